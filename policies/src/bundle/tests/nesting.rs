//! Texts that nest as deep as they can: refused, or loaded, decided with and
//! dropped on the small stack of a test thread.

use super::overlay::Overlay;
use super::scene::{ask, enforced, object, person};
use crate::bundle::nesting::{MAX_DEPTH, MAX_DOTS, MAX_STATEMENT};
use crate::diagnostics::Check;
use crate::roles::Role;

const GUARD: &str = "guards/90-deep.cedar";
const SCHEMA: &str = "schema/deep.cedarschema";

fn guard(condition: &str) -> String {
    format!(
        "@id(\"guard.deep\") forbid (principal is Service, action == Action::\"plan_propose\", \
         resource) when {{ {condition} }};"
    )
}

fn nested(open: &str, core: &str, close: &str, times: usize) -> String {
    format!("{}{core}{}", open.repeat(times), close.repeat(times))
}

/// Every way to nest, so many times.
fn texts(times: usize) -> Vec<(&'static str, String)> {
    vec![
        (GUARD, guard(&nested("(", "true", ")", times))),
        (
            GUARD,
            guard(&format!("{}.isEmpty()", nested("[", "1", "]", times))),
        ),
        (
            GUARD,
            guard(&format!("{} has a", nested("{a:", "1", "}", times))),
        ),
        (
            GUARD,
            guard(&nested("if true then ", "true", " else true", times)),
        ),
        (GUARD, guard(&nested("true && ", "true", "", times))),
        (GUARD, guard(&nested("1 + ", "1 == 1", "", times))),
        (
            GUARD,
            guard(&format!("{{a: 1}}{} == 1", ".a".repeat(times))),
        ),
        (
            GUARD,
            guard(&format!("context has a{}", ".a".repeat(times))),
        ),
        (
            SCHEMA,
            format!("type X = {};", nested("Set<", "Long", ">", times)),
        ),
        (
            SCHEMA,
            format!("type X = {};", nested("{a:", "Long", "}", times)),
        ),
    ]
}

#[test]
fn what_nests_too_deep_is_refused_where_it_does() {
    for (name, text) in texts(10_000) {
        let overlay = Overlay::new();
        let faults = overlay.write(name, &text).load().unwrap_err();
        let fault = faults.iter().next().unwrap();
        assert_eq!(
            (fault.check, fault.file.as_deref()),
            (Check::Nesting, Some(name))
        );
        assert_eq!(fault.line, Some(1));
    }
}

#[test]
fn what_nests_as_deep_as_it_may_never_ends_the_process() {
    for times in [MAX_DEPTH - 2, MAX_DOTS - 2, MAX_STATEMENT / 10] {
        for (name, text) in texts(times) {
            let overlay = Overlay::new();
            let Ok(bundle) = overlay.write(name, &text).load() else {
                continue;
            };
            let otto = person("otto", &[Role::OPERATOR]);
            let swarm = object(interlock_surface::ResourceType::Swarm);
            let got = ask(&bundle, &otto, "plan_propose", &swarm, &enforced());
            assert!(
                got.starts_with("allow") || got.starts_with("broken"),
                "{got}"
            );
        }
    }
}

#[test]
fn brackets_in_texts_and_comments_do_not_count() {
    let deep = "(".repeat(1000);
    let text = format!(
        "// {deep}\n{}",
        guard(&format!(
            "context has kind && context.kind == \"\\\"{deep}\""
        ))
    );
    let overlay = Overlay::new();
    overlay.write(GUARD, text).load().unwrap();
}
