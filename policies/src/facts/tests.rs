use super::{FactsError, Principal, PrincipalFacts, PrincipalKind};
use crate::bundle::tests::scene::{caller, person};
use crate::roles::{Role, Roles};

fn check(facts: &PrincipalFacts, expected: Result<PrincipalKind, FactsError>) {
    let got = Principal::prepare(facts, &Roles::default()).map(|principal| principal.kind());
    assert_eq!(got, expected, "{facts:?}");
}

#[test]
fn facts_of_a_verified_token_are_a_principal() {
    for kind in PrincipalKind::ALL {
        check(&caller(kind, "someone", &[]), Ok(kind));
    }
}

#[test]
fn facts_no_token_can_give_are_refused() {
    let with_issuer = |issuer: &str| PrincipalFacts {
        issuer: issuer.to_owned(),
        ..person("alice", &[])
    };
    let issuer = |text: &str| Err(FactsError::Issuer(text.to_owned()));
    let subject = |text: &str| Err(FactsError::Subject(text.to_owned()));
    check(&with_issuer(""), issuer(""));
    check(&with_issuer("https://i alice"), issuer("https://i alice"));
    check(&with_issuer("https://i\n"), issuer("https://i\n"));
    check(&person("", &[]), subject(""));
    check(&person("  ", &[]), subject("  "));
    check(&person("a\0b", &[]), subject("a\0b"));
    let actor = PrincipalFacts {
        actor: Some(String::new()),
        ..person("alice", &[])
    };
    check(&actor, subject(""));
}

#[test]
fn a_caller_without_a_token_holds_nothing() {
    let anonymous = || caller(PrincipalKind::Anonymous, "anonymous", &[]);
    let grants = caller(PrincipalKind::Anonymous, "anonymous", &[Role::VIEWER]);
    check(&grants, Err(FactsError::Anonymous));
    let tenants = PrincipalFacts {
        tenants: vec!["acme".to_owned()],
        ..anonymous()
    };
    check(&tenants, Err(FactsError::Anonymous));
    let actor = PrincipalFacts {
        actor: Some("someone".to_owned()),
        ..anonymous()
    };
    check(&actor, Err(FactsError::Anonymous));
}

/// Two callers whose parts differ only by where they are cut are two entities.
#[test]
fn issuer_and_subject_cannot_run_into_each_other() {
    let uid = |issuer: &str, subject: &str| {
        let facts = PrincipalFacts {
            issuer: issuer.to_owned(),
            ..person(subject, &[])
        };
        let prepared = Principal::prepare(&facts, &Roles::default()).unwrap();
        prepared.prepared().entity.uid().to_string()
    };
    let all = [
        uid("https://i", "a b"),
        uid("https://i/a", "b"),
        uid("https://ia", "b"),
    ];
    assert_eq!(all[0], r#"Person::"https://i a b""#);
    assert!(all[0] != all[1] && all[1] != all[2]);
}
