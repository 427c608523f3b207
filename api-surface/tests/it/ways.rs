//! The further ways to break a law, each an edit of a good twin.

use crate::compile::compile_sources;
use crate::compile::fault::Law;
use crate::laws::{fixture, with};

/// Edits the good twin of `of` and lists the laws that are broken then.
fn check(of: &str, edits: &[(&str, &str)], expected: &[Law]) {
    let mut source = fixture(&format!("{of}.good"));
    for (from, to) in edits {
        assert!(source.text.contains(from), "{of}: `{from}` is not there");
        source.text = source.text.replacen(from, to, 1);
    }
    let faults = compile_sources(&with(&source)).err().unwrap_or_default();
    let laws: Vec<Law> = faults.iter().map(|fault| fault.law).collect();
    assert_eq!(laws, expected, "{edits:?}: {faults:#?}");
}

#[test]
fn an_edit_that_breaks_nothing_passes() {
    check("malformed", &[("See a thing", "See it")], &[]);
}

#[test]
fn malformed() {
    for (from, to) in [
        ("name = ", "# name = "),
        ("method = ", "# method = "),
        ("path = ", "# path = "),
        ("class = ", "# class = "),
        ("relation = ", "# relation = "),
        ("resource = ", "# resource = "),
        ("resource_from = ", "# resource_from = "),
        ("timeout = ", "# timeout = "),
        ("served_by = ", "# served_by = "),
        ("success = ", "# success = "),
        ("summary = ", "# summary = "),
        ("success = 200", "success = -1"),
        ("success = 200", "success = 70000"),
        ("success = 200", "success = 0xc8"),
        ("success = 200", "success = \"200\""),
        ("success = 200", "success = 200\nstream = \"no\""),
        ("success = 200", "success = 200\nquery = \"limit\""),
        ("success = 200", "success = 200\nquery = [1]"),
        ("success = 200", "success = 200\nfields = 1"),
        ("success = 200", "success = 200\nfields = { a = 1 }"),
        ("success = 200", "success = 200\nsuccess = 200"),
        ("service = \"x\"", "# no service"),
        ("service = \"x\"", "service = \"x"),
        ("[[row]]", "row = [1]\n[other]"),
    ] {
        let mut source = fixture("malformed.good");
        assert!(source.text.contains(from), "`{from}` is not there");
        source.text = source.text.replacen(from, to, 1);
        let faults = compile_sources(&with(&source)).expect_err(to);
        let first = faults.iter().find(|fault| fault.law == Law::Malformed);
        assert!(
            first.is_some_and(|fault| fault.line > 0),
            "{to}: {faults:#?}"
        );
    }
}

#[test]
fn unknown_keys_stand_anywhere() {
    check(
        "unknown-key",
        &[("service = ", "version = 1\nservice = ")],
        &[Law::UnknownKey],
    );
    check(
        "timeout-order",
        &[("connect = 250", "connect = 250\nread = 1")],
        &[Law::UnknownKey],
    );
    check(
        "failure-matrix",
        &[("answer = ", "why = \"so\"\nanswer = ")],
        &[Law::UnknownKey],
    );
}

#[test]
fn unknown_terms() {
    for (from, to) in [
        ("method = \"GET\"", "method = \"HEAD\""),
        ("method = \"GET\"", "method = \"get\""),
        ("resource = \"Swarm\"", "resource = \"Drone\""),
        ("resource_from = \"service\"", "resource_from = \"thing\""),
        ("served_by = \"service\"", "served_by = \"nobody\""),
        ("success = 200", "success = 200\nidempotency = \"maybe\""),
        ("success = 200", "success = 200\nbody = \"maybe\""),
    ] {
        check("unknown-term", &[(from, to)], &[Law::UnknownTerm]);
    }
    check(
        "failure-matrix",
        &[("\"store-down\"", "\"store-up\"")],
        &[Law::UnknownTerm],
    );
    check(
        "failure-matrix",
        &[("\"serve\"", "\"perhaps\"")],
        &[Law::UnknownTerm],
    );
    check(
        "failure-matrix",
        &[("\"calming\"", "\"calm\"")],
        &[Law::UnknownClass],
    );
}

#[test]
fn a_stop_that_needs_a_body() {
    let body = "body = \"required\"\nbody_limit = 9\nrequest_schema = \"AbortRequest\"";
    let served = format!("{body}\nserved_by");
    let fields = "Stop a thing\"\n[row.fields]\naction = \"acting\"";
    let edits = [("served_by", served.as_str()), ("Stop a thing\"", fields)];
    check("stop-unconditional", &edits, &[Law::StopUnconditional]);
}

#[test]
fn rows_in_the_wrong_place() {
    let action = [("relation", "action = \"thing\"\nrelation")];
    check("served-nowhere", &action, &[Law::ActionRule]);
    check(
        "malformed",
        &[("\"service\"\nsuccess", "\"ops\"\nsuccess")],
        &[Law::ServedNowhere],
    );
    check(
        "success-status",
        &[("success = 200", "success = 199")],
        &[Law::SuccessStatus],
    );
}

#[test]
fn fields_and_schemas() {
    let other = [("action = \"acting\"", "reason = \"acting\"")];
    check(
        "undeclared-field",
        &other,
        &[Law::UndeclaredField, Law::UndeclaredField],
    );
    let two = [(
        "action = \"acting\"",
        "action = \"acting\"\nreason = \"annotation\"",
    )];
    check("undeclared-field", &two, &[Law::UndeclaredField]);
    check(
        "unknown-schema",
        &[("success", "query = [\"page\"]\nsuccess")],
        &[Law::UnknownSchema],
    );
    check(
        "body-rule",
        &[("request_schema", "#")],
        &[Law::BodyRule, Law::UndeclaredField],
    );
    check(
        "body-rule",
        &[("body = \"optional\"", "")],
        &[Law::BodyRule],
    );
}

#[test]
fn parameters_that_are_not_there() {
    let text = [("path = ", "text_params = [\"other\"]\npath = ")];
    check("param-not-in-path", &text, &[Law::ParamNotInPath]);
}

#[test]
fn plans_and_gated_writes_lead_somewhere() {
    let preview = "preview = \"x.internal.preview\"";
    check("plan-preview", &[(preview, "")], &[Law::PlanPreview]);
    let own = "preview = \"x.thing.change\"";
    check("plan-preview", &[(preview, own)], &[Law::PlanPreview]);
    check(
        "plan-preview",
        &[("class = \"plan\"", "class = \"record\"")],
        &[Law::PlanPreview],
    );
    let ops = "\"service\"\nsuccess = 200\nsummary = \"Preview";
    let elsewhere = [(ops, "\"ops\"\nsuccess = 200\nsummary = \"Preview")];
    check("plan-preview", &elsewhere, &[Law::PlanPreview]);
    let becomes = "becomes = \"x.thing.change\"";
    check("gated-becomes", &[(becomes, "")], &[Law::GatedBecomes]);
    let own = "becomes = \"x.thing.dispatch\"";
    check("gated-becomes", &[(becomes, own)], &[Law::GatedBecomes]);
    let write = [("class = \"gated-write\"", "class = \"write\"")];
    check("gated-becomes", &write, &[Law::GatedBecomes]);
}

#[test]
fn kinds_of_one_path() {
    let second = [("kind = \"turn\"", "kind = \"start\"")];
    let laws = [Law::KindSchema, Law::DuplicateKey, Law::UndeclaredField];
    check("mixed-kinds", &second, &laws);
    let renamed = [("/things/{thing}/commands", "/things/{other}/commands")];
    check(
        "mixed-kinds",
        &renamed,
        &[Law::KindSchema, Law::MixedKinds, Law::KindSchema],
    );
    let split = [("served_by = \"service\"", "served_by = \"gateway\"")];
    check("mixed-kinds", &split, &[Law::MixedKinds]);
}

#[test]
fn where_kinds_stand() {
    let field = |to: &str| {
        [(
            "kind_field = \"command.kind\"",
            format!("kind_field = \"{to}\""),
        )]
    };
    for (to, laws) in [
        // The first row's alone: its own fields and the other kind's field differ.
        ("a.b.c", vec![Law::KindField]),
        ("order.kind", vec![Law::KindField]),
    ] {
        let mut source = fixture("mixed-kinds.good");
        for (from, to) in &field(to) {
            source.text = source.text.replacen(from, to, 1);
        }
        let faults = compile_sources(&with(&source)).expect_err(to);
        for law in laws {
            assert!(faults.iter().any(|fault| fault.law == law), "{faults:#?}");
        }
    }
    check(
        "malformed",
        &[("success = 200", "success = 200\nkind_field = \"kind\"")],
        &[Law::KindField],
    );
}

#[test]
fn a_kind_is_read_from_a_body() {
    check(
        "calming-kind",
        &[("body = \"required\"", "body = \"optional\"")],
        &[Law::BodyRule],
    );
}

#[test]
fn every_kind_of_a_schema_is_a_row() {
    let whole = [("\"OneTurn\"", "\"ThingRequest\"")];
    check("calming-kind", &whole, &[Law::KindSchema]);
}

#[test]
fn pausing_and_docking_calm() {
    // The schema does not have the kind; what counts is the other law.
    for kind in ["pause_mow", "return_to_dock"] {
        let to = format!("kind = \"{kind}\"");
        let mut source = fixture("calming-kind.good");
        source.text = source.text.replacen("kind = \"turn\"", &to, 1);
        let faults = compile_sources(&with(&source)).expect_err("not calming");
        assert!(
            faults.iter().any(|fault| fault.law == Law::CalmingKind),
            "{faults:#?}"
        );
    }
}

#[test]
fn accounts_and_members() {
    let account = |from: &'static str, to: &'static str| {
        check("account-resource", &[(from, to)], &[Law::AccountResource]);
    };
    account("\"Scope\"", "\"Swarm\"");
    account("query = [\"account\"]", "");
    account("\"account\"  # here", "\"service\"");
    let public = [(
        "class = \"private-read\"",
        "public = true\nclass = \"read\"",
    )];
    check("members-served", &public, &[Law::MembersServed]);
}

#[test]
fn reads_that_ask_or_do_not() {
    check(
        "read-method",
        &[("\"POST\"", "\"GET\"")],
        &[Law::ReadMethod, Law::BodyOnRead],
    );
    check("malformed", &[("\"GET\"", "\"POST\"")], &[Law::ReadMethod]);
}

#[test]
fn what_waits_longer_is_answered_later() {
    let hurried = [("timeout = \"path-preview\"", "timeout = \"stop\"")];
    check("gated-fields", &hurried, &[Law::TimeoutOrder]);
}

#[test]
fn services_stand_apart() {
    let file = fixture("plan-preview.good");
    let mut sources = with(&file);
    let mut second = file.clone();
    second.label = "broken/second.toml".to_owned();
    second.text = second
        .text
        .replace("service = \"x\"", "service = \"y\"")
        .replace("\"x.", "\"y.")
        .replace("thing_change", "other_change")
        .replace("/things/", "/other-things/");
    sources.services.push(second.clone());
    assert_eq!(compile_sources(&sources).err(), None);
    // The public listener serves both, so there paths must differ.
    let public = second.text.replace("/other-things/", "/things/");
    sources.services[1].text = public;
    let faults = compile_sources(&sources).expect_err("one public path");
    let laws: Vec<Law> = faults.iter().map(|fault| fault.law).collect();
    assert_eq!(laws, [Law::DuplicateKey], "{faults:#?}");
    // And a plan is previewed by its own service.
    sources.services[1].text = second.text.replace("preview = \"y.", "preview = \"x.");
    let faults = compile_sources(&sources).expect_err("another service's preview");
    let laws: Vec<Law> = faults.iter().map(|fault| fault.law).collect();
    assert_eq!(laws, [Law::PlanPreview], "{faults:#?}");
}

#[test]
fn deadlines_nest() {
    for (from, to) in [
        ("connect = 250", "connect = 0"),
        ("connect = 250", "connect = 800"),
        ("attempt = 800", "attempt = 2001"),
        ("total = 2000", "total = 2500"),
    ] {
        check("timeout-order", &[(from, to)], &[Law::TimeoutOrder]);
    }
    check("timeout-order", &[("total = 2000", "total = 800")], &[]);
    check(
        "timeout-order",
        &[("\"read\"", "\"stop\"")],
        &[Law::DuplicateName],
    );
}

#[test]
fn promises() {
    let serve = [("\"serve\"", "\"serve\"\nstatus = 503")];
    check("failure-matrix", &serve, &[Law::FailurePromise]);
    let effect = [("\"serve\"", "\"serve\"\neffect = \"none\"")];
    check("failure-matrix", &effect, &[Law::FailurePromise]);
    check(
        "failure-promise",
        &[("status = 503", "")],
        &[Law::FailurePromise],
    );
    let twice = [(
        "\"read\", \"private-read\"",
        "\"read\", \"read\", \"private-read\"",
    )];
    check("failure-matrix", &twice, &[Law::FailureMatrix]);
    let half = [("answer", "case = \"keyed\"\nanswer")];
    check("failure-matrix", &half, &[Law::FailureMatrix; 9]);
}
