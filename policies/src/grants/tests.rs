use std::fs;

use super::{Directory, Entry, GrantsError};
use crate::bounds::Bound;
use crate::bundle::tests::overlay::here;
use crate::bundle::tests::scene::caller;
use crate::facts::{PrincipalFacts, PrincipalKind, Proposer};
use crate::roles::Role;

const ISSUER: &str = "https://idp.example";

fn example() -> Directory {
    let text = fs::read_to_string(here("examples/grants.json")).unwrap();
    Directory::parse(&text).unwrap()
}

fn file(people: &str, identities: &str) -> String {
    format!(r#"{{ "format": 1, "people": [{people}], "identities": [{identities}] }}"#)
}

fn refused(text: &str, expected: &str) {
    let error = Directory::parse(text).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}\n{text}");
}

#[test]
fn the_example_is_the_one_in_the_readme() {
    let readme = fs::read_to_string(here("README.md")).unwrap();
    let shown = readme.split("```json\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    assert_eq!(
        shown,
        fs::read_to_string(here("examples/grants.json")).unwrap()
    );
}

#[test]
fn the_example_says_who_is_whom_and_who_holds_what() {
    let directory = example();
    let alice = directory.entry(ISSUER, "alice");
    assert_eq!(alice.person.as_ref().map(|p| p.as_str()), Some("alice"));
    assert_eq!(alice.grants, [(Role::OPERATOR, "acme".to_owned())]);
    assert_eq!(alice.tenants, ["acme"]);
    assert_eq!(
        directory.entry("https://other-idp.example", "a.liddell"),
        alice
    );
    let bot = directory.entry(ISSUER, "planner-bot");
    assert_eq!(bot.person, None);
    assert_eq!(bot.acts_for, alice.person);
    assert_eq!(bot.grants, [(Role::OPERATOR, "acme.north".to_owned())]);
    assert_eq!(directory.entry(ISSUER, "nobody"), Entry::default());
}

#[test]
fn another_spelling_gains_no_right_and_escapes_no_suspension() {
    let people = r#"{ "id": "alice", "suspended": true, "tenants": ["acme"],
        "identities": [{ "issuer": "https://idp.example", "subject": "alice" }],
        "grants": [{ "role": "admin", "scope": "acme" }] }"#;
    let directory = Directory::parse(&file(people, "")).unwrap();
    let other = directory.entry(ISSUER, "ALICE");
    assert!(other.grants.is_empty() && other.tenants.is_empty());
    assert!(other.suspended);
    assert!(other.person.is_some());
}

#[test]
fn a_proposal_comes_from_all_who_stand_behind_it() {
    let directory = example();
    let of = |subject: &str, actor: Option<&str>| {
        directory.proposer(&Proposer {
            issuer: ISSUER.to_owned(),
            subject: subject.to_owned(),
            actor: actor.map(str::to_owned),
        })
    };
    let (identities, acts_for) = of("bob", Some("alice"));
    let expected = [
        "https://idp.example bob",
        "https://idp.example alice",
        "person:alice",
    ];
    assert_eq!(identities, expected.map(str::to_owned).into());
    assert!(acts_for.is_empty());
    let (identities, acts_for) = of("planner-bot", None);
    assert_eq!(
        identities,
        ["https://idp.example planner-bot".to_owned()].into()
    );
    assert_eq!(acts_for, ["person:alice".to_owned()].into());
}

#[test]
fn faults_are_refused_with_what_and_where() {
    let key = |subject: &str| format!(r#"{{ "issuer": "https://i", "subject": "{subject}" }}"#);
    let alice = |more: &str| format!(r#"{{ "id": "alice", "identities": [{}]{more} }}"#, key("a"));

    refused("{", "EOF while parsing");
    refused(
        r#"{ "format": 1, "people": [] }"#,
        "missing field `identities`",
    );
    refused(
        r#"{ "format": 2, "people": [], "identities": [] }"#,
        "only 1 is known",
    );
    refused(
        &file(&alice(r#", "rolls": []"#), ""),
        "unknown field `rolls`",
    );
    let role = r#", "grants": [{ "role": "chief", "scope": "acme" }]"#;
    refused(
        &file(&alice(role), ""),
        "there is no role `chief`; there are admin, approver, dispatcher",
    );
    let roles = |roles: &str| {
        format!(r#"{{ "format": 1, "roles": {roles}, "people": [], "identities": [] }}"#)
    };
    refused(
        &roles(r#"{ "rider": ["ride"] }"#),
        "role `rider`: `ride` is no relation; write one of view, control",
    );
    refused(&roles(r#"{ "rider": [] }"#), "role `rider` gives nothing");
    refused(
        &roles(r#"{ "viewer": ["view"] }"#),
        "role `viewer` is built in",
    );
    refused(
        &roles(r#"{ "The Rider": ["view"] }"#),
        "`The Rider` is no role",
    );
    let scope = r#", "grants": [{ "role": "admin", "scope": "acme/a" }]"#;
    refused(&file(&alice(scope), ""), "scope id `acme/a` is not");
    refused(
        &file(&alice(r#", "tenants": [""]"#), ""),
        "scope id `` is not",
    );
    refused(
        &file(r#"{ "id": "a b", "identities": [] }"#, ""),
        "person id `a b` is not",
    );
    let twice = format!("{},{}", alice(""), alice(""));
    refused(&file(&twice, ""), "person `alice` is listed twice");
    refused(
        &file(&alice(""), &key("A")),
        "identity `A` of `https://i` is listed twice",
    );
    let bot = r#"{ "issuer": "https://i", "subject": "b", "actsFor": "alice" }"#;
    refused(
        &file(&alice(""), bot),
        "`alice`, for whom no `tenants` are listed",
    );
    refused(
        &file(&alice(r#", "tenants": ["acme"]"#), bot),
        "`alice`, for whom no `grants` are listed",
    );
    let unknown = r#"{ "issuer": "https://i", "subject": "b", "actsFor": "bob" }"#;
    refused(&file("", unknown), "`actsFor` names `bob`");
    refused(
        &file("", r#"{ "issuer": "https://i x", "subject": "b" }"#),
        "white space",
    );
    refused(&file("", &key("")), "subject `` is empty");
    refused(&file("", &key("\\u0000")), "control characters");
}

#[test]
fn json_faults_have_a_place() {
    let error = Directory::parse("{\n  \"format\": true }").unwrap_err();
    let GrantsError::Json { line, column, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((line, column), (2, 16));
}

/// Alice operates `acme`, and her bot is given more than that.
const BOUNDS: &str = r#"{
  "format": 1,
  "people": [{
    "id": "alice", "tenants": ["acme"],
    "identities": [{ "issuer": "https://idp.example", "subject": "alice" }],
    "grants": [{ "role": "operator", "scope": "acme" }]
  }],
  "identities": [
    { "issuer": "https://idp.example", "subject": "bot", "actsFor": "alice",
      "tenants": ["acme"], "grants": [{ "role": "admin", "scope": "acme.north" }] },
    { "issuer": "https://idp.example", "subject": "silent" },
    { "issuer": "https://idp.example", "subject": "retired", "suspended": true, "grants": [] }
  ]
}"#;

fn known(subject: &str, actor: Option<&str>) -> PrincipalFacts {
    let token = PrincipalFacts {
        actor: actor.map(str::to_owned),
        tenants: Vec::new(),
        ..caller(PrincipalKind::Agent, subject, &[])
    };
    Directory::parse(BOUNDS).unwrap().completed(&token)
}

fn grants_of(bound: &Bound) -> Option<Vec<(&str, &str)>> {
    let grants = bound.grants.as_ref()?;
    Some(
        grants
            .iter()
            .map(|(r, s)| (r.as_str(), s.as_str()))
            .collect(),
    )
}

#[test]
fn an_agent_of_its_own_is_bounded_by_the_person_it_acts_for() {
    let bot = known("bot", None);
    assert_eq!(bot.grants, [(Role::ADMIN, "acme.north".to_owned())]);
    let [bound] = bot.bounds.as_slice() else {
        panic!("{bot:?}");
    };
    assert_eq!(bound.tenants.as_deref(), Some(&["acme".to_owned()][..]));
    assert_eq!(grants_of(bound), Some(vec![("operator", "acme")]));
    // Another spelling does not get out of it.
    assert_eq!(known("BOT", None).bounds, bot.bounds);
    assert!(known("alice", None).bounds.is_empty());
    assert!(known("silent", None).bounds.is_empty());
}

#[test]
fn a_delegate_holds_what_the_subject_and_its_own_entry_give() {
    let through = |actor| known("alice", Some(actor));
    for actor in ["bot", "BOT"] {
        let facts = through(actor);
        assert_eq!(facts.grants, [(Role::OPERATOR, "acme".to_owned())]);
        let bounds: Vec<_> = facts.bounds.iter().map(grants_of).collect();
        assert_eq!(bounds, [Some(vec![("admin", "acme.north")])]);
    }
    // One of whom the file says nothing holds what the person holds.
    for actor in ["silent", "unheard-of"] {
        assert!(through(actor).bounds.is_empty(), "{actor}");
    }
    assert_eq!(grants_of(&through("retired").bounds[0]), Some(Vec::new()));
}

#[test]
fn a_suspension_reaches_through_a_delegation_both_ways() {
    assert!(known("alice", Some("retired")).suspended);
    assert!(!known("alice", Some("silent")).suspended);
    let away = BOUNDS.replace(r#""id": "alice","#, r#""id": "alice", "suspended": true,"#);
    let directory = Directory::parse(&away).unwrap();
    let bot = directory.completed(&caller(PrincipalKind::Agent, "bot", &[]));
    assert!(bot.suspended);
}
