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
        return Ok(query.with(ACCOUNT, of_service(gateway, row)));
    }
    let (accounts, everywhere) = own(gateway, caller);
    let mut accounts = accounts.iter();
    match (accounts.next(), accounts.next()) {
        (Some(account), None) => Ok(query.with(ACCOUNT, account)),
        (Some(_), Some(_)) => Err(invalid(
            "you belong to several accounts: name one with the query parameter `account`",
        )),
        (None, _) if everywhere => Err(invalid(
            "you belong to the whole installation: name an account with the query parameter `account`",
        )),
        (None, _) => Err(invalid(
            "you belong to no account, so that there is nothing here that you may see: ask whoever \
             issues your tokens, or writes the grants file of the gateway, to make you a member of one",
        )),
    }
}

/// One query for each account that a stop is for: the account that is named, and
/// where none can be read, all that the caller belongs to. Who belongs to no
/// account has nothing to stop, and is told so by policy. None at all: the caller
/// belongs to the whole installation, and no account of it is known.
pub(super) fn each(gateway: &Gateway, row: &Row, query: Query, caller: &Caller) -> Vec<Query> {
    let named = query.get(ACCOUNT).is_some_and(is_id);
    if row.resource_from != ResourceFrom::Account || named {
        return vec![query];
    }
    let others: Vec<&str> = row
        .query
        .iter()
        .copied()
        .filter(|name| *name != ACCOUNT)
        .collect();
    let query = query.kept(&others);
    if gateway.authn.mode() == Mode::Open {
        return vec![query.with(ACCOUNT, of_service(gateway, row))];
    }
    let (mut accounts, everywhere) = own(gateway, caller);
    if everywhere {
        accounts.extend(gateway.registry.accounts(row.service));
    }
    if accounts.is_empty() && !everywhere {
        return vec![query];
    }
    let named = accounts.iter().map(|id| query.clone().with(ACCOUNT, id));
    named.collect()
}

/// The account of a gateway that knows no others.
fn of_service<'a>(gateway: &'a Gateway, row: &'a Row) -> &'a str {
    let service = gateway.services.get(row.service);
    service.map_or(row.service, |service| service.object.as_str())
}

/// The accounts that a caller belongs to, and whether it is the installation's.
fn own(gateway: &Gateway, caller: &Caller) -> (BTreeSet<String>, bool) {
    let active = gateway.policies.active();
    let (issuer, subject) = (&caller.facts.issuer, &caller.facts.subject);
    let entry = active.bundle.directory_grants(issuer, subject);
    let tenants = caller.facts.tenants.iter().chain(&entry.tenants);
    parted(tenants.map(String::as_str))
}

/// The whole installation is no account.
fn parted<'a>(tenants: impl Iterator<Item = &'a str>) -> (BTreeSet<String>, bool) {
    let mut accounts: BTreeSet<String> = tenants.map(str::to_owned).collect();
    let everywhere = accounts.remove(INSTALLATION);
    (accounts, everywhere)
}

fn invalid(text: &str) -> Problem {
    Problem::invalid_request(vec![text.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::parted;

    #[test]
    fn the_installation_is_no_account() {
        let check = |tenants: &[&'static str], accounts: &[&str], everywhere: bool| {
            let (told, whole) = parted(tenants.iter().copied());
            let told: Vec<&str> = told.iter().map(String::as_str).collect();
            assert_eq!((told.as_slice(), whole), (accounts, everywhere));
        };
        check(&["acme"], &["acme"], false);
        check(&["acme", "acme", "installation"], &["acme"], true);
        check(&["beta", "acme"], &["acme", "beta"], false);
        check(&["installation"], &[], true);
        check(&[], &[], false);
    }
}
