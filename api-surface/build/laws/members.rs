//! The laws about accounts and about members that the service asks about.

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::relation::Relation;
use crate::compile::table::{Draft, From};
use crate::compile::terms::{ResourceType, ServedBy};

/// The query parameter that names the account.
const ACCOUNT: &str = "account";

pub fn judge(row: &Draft) -> Vec<Fault> {
    let members = &row.right.judges_members;
    let reached = row.served_by.value == ServedBy::Service
        && row.right.class != Class::Internal
        && !row.right.public.value;
    let mut faults = Vec::new();
    if members.value && !reached {
        let text = "only a service asks about members, and only for a caller: not on rows of the \
                    gateway, internal or public ones";
        faults.push(row.fault(members.line, Law::MembersServed, text));
    }
    faults.extend(account(row));
    faults
}

/// What is judged on an account says nothing about its members yet, so a row
/// that only looks must have each of them judged.
fn account(row: &Draft) -> Option<Fault> {
    let named = row.content.query.iter().find(|name| name.value == ACCOUNT);
    let at = row.right.resource_from.line;
    if row.right.resource_from.value != From::Account {
        return named.map(|name| {
            let text = "only a row with `resource_from = \"account\"` takes the query `account`";
            row.fault(name.line, Law::AccountResource, text)
        });
    }
    let looks = row.right.relation.value == Relation::View;
    let judged = row.right.judges_members.value || row.served_by.value == ServedBy::Gateway;
    let text = if row.right.resource != ResourceType::Scope {
        "an account is a `Scope`"
    } else if named.is_none() {
        "a caller of several accounts must be able to name one: add `account` to `query`"
    } else if looks && !judged {
        "whoever belongs to an account gets in here: set `judges_members`, so that each sees only \
         what they may"
    } else {
        return None;
    };
    Some(row.fault(at, Law::AccountResource, text))
}
