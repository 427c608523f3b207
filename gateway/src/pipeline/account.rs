//! Which account a call is about, where the path does not say.

use std::collections::BTreeSet;

use interlock_policies::{INSTALLATION, Mode};
use interlock_surface::ids::is_id;
use interlock_surface::{ResourceFrom, Row};

use crate::authn::Caller;
use crate::edge::query::Query;
use crate::gateway::Gateway;
use crate::problem::Problem;

/// The query parameter that names the account.
pub(super) const ACCOUNT: &str = "account";

/// The query with the account that the call is judged on: the one named, else
/// the caller's only one, else in open mode the service's. The service is sent
/// the account too, and need not find it out again.
///
/// # Errors
/// 400 when the caller has to name it.
pub(super) fn named(
    gateway: &Gateway,
    row: &Row,
    query: Query,
    caller: &Caller,
) -> Result<Query, Problem> {
    if row.resource_from != ResourceFrom::Account {
        return Ok(query);
    }
    if let Some(account) = query.get(ACCOUNT) {
        return match is_id(account) {
            true => Ok(query),
            false => Err(invalid("the query parameter `account` is no account id")),
        };
    }
    if gateway.authn.mode() == Mode::Open {
        let service = gateway.services.get(row.service);
        let account = service.map_or(row.service, |service| service.object.as_str());
        return Ok(query.with(ACCOUNT, account));
    }
    let active = gateway.policies.active();
    let (issuer, subject) = (&caller.facts.issuer, &caller.facts.subject);
    let entry = active.bundle.directory_grants(issuer, subject);
    let own = caller.facts.tenants.iter().chain(&entry.tenants);
    match only(own.map(String::as_str)) {
        Ok(account) => Ok(query.with(ACCOUNT, account)),
        Err(several) => Err(invalid(match several {
            true => "you belong to several accounts: name one with the query parameter `account`",
            false => "you belong to no account: name one with the query parameter `account`",
        })),
    }
}

/// The one account among tenants; otherwise whether there are several. The
/// whole installation is none.
fn only<'a>(tenants: impl Iterator<Item = &'a str>) -> Result<&'a str, bool> {
    let accounts: BTreeSet<&str> = tenants.filter(|id| *id != INSTALLATION).collect();
    let mut accounts = accounts.into_iter();
    match (accounts.next(), accounts.next()) {
        (Some(account), None) => Ok(account),
        (first, _) => Err(first.is_some()),
    }
}

fn invalid(text: &str) -> Problem {
    Problem::invalid_request(vec![text.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn one_account_is_the_one_meant() {
        let check = |tenants: &[&'static str], expected| {
            assert_eq!(only(tenants.iter().copied()), expected, "{tenants:?}");
        };
        check(&["acme"], Ok("acme"));
        check(&["acme", "acme", "installation"], Ok("acme"));
        check(&["acme", "beta"], Err(true));
        check(&["installation"], Err(false));
        check(&[], Err(false));
    }
}
