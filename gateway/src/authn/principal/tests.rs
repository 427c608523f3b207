use interlock_policies::{PrincipalKind, Role};
use serde_json::{Value, json};

use super::{Claims, ClaimsError, ENTRIES, ID_BYTES};
use crate::authn::Caller;
use crate::authn::cache::TokenDigest;
use crate::authn::testkit::{NOW, at, claims};
use crate::config::auth::IssuerConfig;

const ISSUER: &str = "https://idp.example";

fn config() -> IssuerConfig {
    IssuerConfig {
        agents: vec!["planner".to_owned()],
        services: vec!["scheduler".to_owned()],
        ..IssuerConfig::new(ISSUER, "interlock")
    }
}

fn caller(changes: &Value) -> Result<Caller, ClaimsError> {
    let mut all = claims(ISSUER);
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => all.as_object_mut().unwrap().remove(name),
            value => all
                .as_object_mut()
                .unwrap()
                .insert(name.clone(), value.clone()),
        };
    }
    let claims = Claims::parse(all.to_string().as_bytes())?;
    claims.issuer()?;
    claims.caller(&config(), TokenDigest::of("t"), at(0))
}

/// `null` takes a claim away.
fn check(changes: Value, expected: Result<(), ClaimsError>) {
    assert_eq!(caller(&changes).map(drop), expected, "{changes}");
}

fn missing(name: &str) -> Result<(), ClaimsError> {
    Err(ClaimsError::Missing(name.to_owned()))
}

fn malformed(name: &str) -> Result<(), ClaimsError> {
    Err(ClaimsError::Malformed(name.to_owned()))
}

#[test]
fn required_claims_are_required_and_typed() {
    for name in ["iss", "aud", "sub", "exp"] {
        check(json!({name: null}), missing(name));
        check(json!({name: true}), malformed(name));
        check(json!({name: {}}), malformed(name));
    }
    for subject in ["", " ", "a\nb", &"s".repeat(ID_BYTES + 1)] {
        check(json!({"sub": subject}), malformed("sub"));
    }
    check(json!({"sub": "s".repeat(ID_BYTES)}), Ok(()));
    check(json!({"aud": ["interlock", 1]}), malformed("aud"));
    check(json!({"exp": "1764500300"}), malformed("exp"));
    check(json!({"exp": 9e15}), malformed("exp"));
    check(json!({"iat": "now"}), malformed("iat"));
    check(json!({"client_id": 1}), malformed("client_id"));
    check(json!({"azp": []}), malformed("azp"));
    assert_eq!(
        Claims::parse(b"[]").map(drop),
        Err(crate::edge::json::JsonError::Syntax { line: 1, column: 1 }.into())
    );
    let twice = Claims::parse(br#"{"sub":"alice","sub":"bob"}"#).map(drop);
    assert_eq!(
        twice.unwrap_err().to_string(),
        "the token's claims are malformed: the name `sub` is given more than once in one object"
    );
}

#[test]
fn time_is_judged_with_five_seconds_of_leeway() {
    check(json!({"exp": NOW - 4}), Ok(()));
    check(json!({"exp": NOW - 5}), Err(ClaimsError::Expired));
    check(json!({"exp": 0}), Err(ClaimsError::Expired));
    check(json!({"exp": -1}), Err(ClaimsError::Expired));
    check(json!({"exp": NOW as f64 + 0.5}), Ok(()));
    check(json!({"nbf": NOW + 5}), Ok(()));
    check(json!({"nbf": NOW + 6}), Err(ClaimsError::NotYet));
    check(json!({"nbf": NOW + 3_600}), Err(ClaimsError::NotYet));
    check(json!({"nbf": "later"}), malformed("nbf"));
    assert_eq!(caller(&json!({})).unwrap().expires_at, Some(at(300)));
}

#[test]
fn the_audience_is_this_gateway() {
    check(json!({"aud": ["other", "interlock"]}), Ok(()));
    for audience in [json!("other"), json!("Interlock"), json!([]), json!(["x"])] {
        check(json!({"aud": audience}), Err(ClaimsError::Audience));
    }
}

#[test]
fn the_client_and_the_delegation_tell_the_kind() {
    use PrincipalKind::{Agent, Person, Service};
    let table = [
        (json!({}), Person, None),
        (json!({"client_id": "dashboard"}), Person, None),
        (json!({"client_id": "planner"}), Agent, Some("planner")),
        (json!({"azp": "planner"}), Agent, Some("planner")),
        (
            json!({"client_id": "dashboard", "azp": "planner"}),
            Person,
            None,
        ),
        (
            json!({"client_id": "planner", "sub": "planner"}),
            Agent,
            None,
        ),
        (json!({"act": {"sub": "bot"}}), Agent, Some("bot")),
        (
            json!({"act": {"sub": "bot", "act": {"sub": "older"}}}),
            Agent,
            Some("bot"),
        ),
        (
            json!({"act": {"sub": "bot"}, "client_id": "planner"}),
            Agent,
            Some("bot"),
        ),
        (json!({"client_id": "scheduler"}), Service, None),
    ];
    for (changes, kind, actor) in table {
        let caller = caller(&changes).unwrap();
        assert_eq!(caller.kind, kind, "{changes}");
        assert_eq!(caller.facts.kind, kind, "{changes}");
        assert_eq!(caller.identity.actor.as_deref(), actor, "{changes}");
        assert_eq!(caller.facts.actor.as_deref(), actor, "{changes}");
    }
    for act in [
        json!("bot"),
        json!({}),
        json!({"sub": ""}),
        json!({"sub": 1}),
    ] {
        check(json!({"act": act}), malformed("act"));
    }
}

#[test]
fn tenants_and_grants_come_from_the_configured_claims() {
    let caller = caller(&json!({
        "interlock_tenants": ["acme", "globex"],
        "interlock_grants": {"viewer": ["acme"], "approver": ["acme", "site-1"], "The Chief": ["acme"]},
    }))
    .unwrap();
    assert_eq!(caller.facts.tenants, ["acme", "globex"]);
    let mut grants = caller.facts.grants;
    grants.sort();
    // What can name no role gives nothing and takes nothing away.
    assert_eq!(
        grants,
        [
            (Role::APPROVER, "acme".to_owned()),
            (Role::APPROVER, "site-1".to_owned()),
            (Role::VIEWER, "acme".to_owned()),
        ]
    );
    assert!(caller.facts.person.is_none());
    assert!(!caller.facts.suspended);
}

#[test]
fn claims_of_rights_are_typed_and_bounded() {
    let none = caller(&json!({"interlock_tenants": null, "interlock_grants": null})).unwrap();
    assert!(none.facts.tenants.is_empty() && none.facts.grants.is_empty());
    for tenants in [
        json!("acme"),
        json!([1]),
        json!([""]),
        json!(vec!["t"; ENTRIES + 1]),
    ] {
        check(
            json!({"interlock_tenants": tenants}),
            malformed("interlock_tenants"),
        );
    }
    for grants in [
        json!(["operator"]),
        json!({"operator": "acme"}),
        json!({"operator": [1]}),
        json!({"owner": "acme"}),
        json!({"viewer": vec!["s"; ENTRIES], "operator": ["s"]}),
    ] {
        check(
            json!({"interlock_grants": grants}),
            malformed("interlock_grants"),
        );
    }
}
