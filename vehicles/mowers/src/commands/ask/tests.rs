use interlock_guard::{Caller, CallerKind};

use super::issuer;
use crate::contract::IssuerKind;

fn caller(kind: CallerKind, actor: Option<&str>) -> Caller {
    Caller {
        kind,
        issuer: "https://idp".to_owned(),
        subject: "anna".to_owned(),
        actor: actor.map(str::to_owned),
        standing: None,
    }
}

#[test]
fn a_person_acts_for_nobody() {
    let anna = issuer(&caller(CallerKind::Person, None));
    assert_eq!(anna.kind, IssuerKind::User);
    assert_eq!(anna.id, "https://idp anna");
    assert_eq!(anna.on_behalf_of, None);
}

#[test]
fn an_agent_acts_for_the_subject_of_its_token() {
    let agent = issuer(&caller(CallerKind::Agent, Some("gardener")));
    assert_eq!(agent.kind, IssuerKind::Agent);
    assert_eq!(agent.id, "https://idp gardener");
    assert_eq!(agent.display, "gardener");
    assert_eq!(agent.on_behalf_of.as_deref(), Some("https://idp anna"));
    let alone = issuer(&caller(CallerKind::Agent, None));
    assert_eq!(
        (alone.id.as_str(), alone.on_behalf_of),
        ("https://idp anna", None)
    );
}
