//! Bad edits: each leaves what was in force, and says where it is wrong.

use std::fs;

use interlock_tests::gateway::{Gateway, GatewayConfig, Storage};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use serde_json::Value;

use super::stage::Edited;

/// One bad edit.
struct Bad {
    what: &'static str,
    edit: fn(&Edited),
    check: &'static str,
    /// The file that is wrong, and the line.
    at: (&'static str, Option<u64>),
}

fn append(edited: &Edited, file: &str, text: &str) {
    let file = edited.file(file);
    let before = fs::read_to_string(&file).unwrap();
    fs::write(file, before + text).unwrap();
}

fn write(edited: &Edited, text: &str) {
    fs::write(edited.file("guards/90-bad.cedar"), text).unwrap();
}

const BAD: [Bad; 10] = [
    Bad {
        what: "a syntax error",
        edit: |edited| {
            write(
                edited,
                "@id(\"guard.bad\")\nforbid (principal, action, resource\nwhen { true };\n",
            )
        },
        check: "syntax",
        at: ("guards/90-bad.cedar", Some(3)),
    },
    Bad {
        what: "a file cut off in the middle",
        edit: |edited| {
            let file = edited.file("guards/40-state.cedar");
            let text = fs::read_to_string(&file).unwrap();
            fs::write(file, &text[..text.len() / 2]).unwrap();
        },
        check: "syntax",
        at: ("guards/40-state.cedar", Some(0)),
    },
    Bad {
        what: "an action that there is not",
        edit: |edited| {
            write(
                edited,
                "@id(\"guard.bad\")\nforbid (\n  principal,\n  action == Action::\"plan_dispach\",\n  resource\n);\n",
            )
        },
        check: "unknown-action",
        at: ("guards/90-bad.cedar", Some(0)),
    },
    Bad {
        what: "an attribute that there is not",
        edit: |edited| {
            write(
                edited,
                "@id(\"guard.bad\")\nforbid (principal, action == Action::\"plan_dispatch\", resource)\nwhen { context.locked == true };\n",
            )
        },
        check: "unknown-attribute",
        at: ("guards/90-bad.cedar", Some(0)),
    },
    Bad {
        what: "`in` on a text",
        edit: |edited| {
            write(
                edited,
                "@id(\"guard.bad\")\nforbid (principal, action == Action::\"plan_dispatch\", resource)\nwhen { context.mode in [\"red\"] };\n",
            )
        },
        check: "type",
        at: ("guards/90-bad.cedar", Some(0)),
    },
    Bad {
        what: "a case that fails",
        edit: |edited| {
            let file = edited.file("cases/plans.json");
            let text = fs::read_to_string(&file).unwrap();
            let changed = text.replacen("\"decision\": \"allow\"", "\"decision\": \"deny\"", 1);
            assert_ne!(text, changed);
            fs::write(file, changed).unwrap();
        },
        check: "case-failed",
        at: ("cases/plans.json", Some(0)),
    },
    Bad {
        what: "a forbid on a stop",
        edit: |edited| {
            write(
                edited,
                "@id(\"guard.bad\")\n@advice(\"x\")\nforbid (\n  principal,\n  action == Action::\"swarm_land\",\n  resource\n);\n",
            )
        },
        check: "forbid-covers-stop",
        at: ("guards/90-bad.cedar", Some(0)),
    },
    Bad {
        what: "one id twice",
        edit: |edited| {
            append(
                edited,
                "guards/30-duties.cedar",
                "\n@id(\"guard.suspended\")\n@advice(\"x\")\nforbid (principal, action == Action::\"plan_dispatch\", resource)\nwhen { principal.suspended };\n",
            )
        },
        check: "duplicate-id",
        at: ("guards/40-state.cedar", Some(0)),
    },
    Bad {
        what: "a schema that does not parse",
        edit: |edited| {
            append(
                edited,
                "schema/actions.cedarschema",
                "\nentity Broken = {\n",
            )
        },
        check: "schema",
        at: ("schema/actions.cedarschema", Some(0)),
    },
    Bad {
        what: "a folder that is gone",
        edit: |edited| fs::remove_dir_all(edited.bundle()).unwrap(),
        check: "files",
        at: ("", None),
    },
];

#[tokio::test]
async fn a_broken_edit_never_replaces_and_says_where_it_is_wrong() {
    let edited = Edited::start(Some(100)).await;
    let hash = edited.hash().await;
    let mut differences = Vec::new();
    for bad in BAD {
        (bad.edit)(&edited);
        let refused = poll::until_async(bad.what, async || {
            let refused = edited.policy().await["refused"].take();
            (!refused.is_null()).then_some(refused)
        })
        .await;
        differences.extend(differs(&bad, &refused));
        assert_eq!(edited.hash().await, hash, "{}", bad.what);
        assert!(edited.may_dispatch().await, "{}", bad.what);
        let land = edited
            .system
            .call(Persona::Viewer, "POST", "/api/swarm/land");
        land.send().await.expect(202);
        edited.restore();
        edited.taken_over().await;
        assert_eq!(edited.hash().await, hash, "{}", bad.what);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The copy of the last good bundle decides: a supervisor that restarts the
/// gateway on a bad edit takes no stop away. Without a copy it does not start.
#[tokio::test]
async fn a_restart_on_a_broken_edit_goes_on_with_the_last_good_bundle() {
    let mut edited = Edited::start(Some(100)).await;
    let hash = edited.hash().await;
    let [bad, ..] = BAD;
    (bad.edit)(&edited);
    edited.system.gateway_mut().process.kill();
    edited.system.gateway_mut().restart();
    let refused = edited.policy().await["refused"].take();
    assert_eq!(differs(&bad, &refused), None);
    let land = edited
        .system
        .call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    poll::until_async("the gateway decides on", async || {
        let ready = edited.system.gateway().ops().get("/readyz").send().await;
        (ready.status == 200 && ready.json()["policy"]["hash"] == hash).then_some(())
    })
    .await;

    let config = edited.system.gateway().config.clone();
    let folder = tempfile::tempdir().unwrap();
    let nothing_kept = GatewayConfig {
        state: folder.path().join("state"),
        storage: Storage::Embedded(folder.path().join("gateway.db")),
        ..config
    };
    let (status, said) = Gateway::refused("refused", nothing_kept, folder.path());
    assert_eq!(status.code(), Some(64), "{said}");
    assert!(said.contains("guards/90-bad.cedar:3"), "{said}");
}

/// What the diagnostics say, where it is not what was to be said.
fn differs(bad: &Bad, refused: &Value) -> Option<String> {
    let (file, line) = bad.at;
    let told = refused["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|fault| {
            let there = match line {
                None => true,
                Some(0) => fault["line"].as_u64().is_some_and(|line| line > 0),
                Some(line) => fault["line"] == line,
            };
            let in_file = file.is_empty() || fault["file"] == file;
            fault["check"] == bad.check && in_file && there
        });
    (!told).then(|| format!("{}: {refused:#}", bad.what))
}

/// What is still being written decides nothing until it is whole.
#[tokio::test]
async fn a_half_written_edit_is_left_alone_until_it_is_whole() {
    let edited = Edited::start(Some(100)).await;
    let hash = edited.hash().await;
    let file = edited.file("guards/90-more.cedar");
    let text = "@id(\"guard.more\")\n@advice(\"x\")\nforbid (principal, action == Action::\"plan_dispatch\", resource)\nwhen { context.ttl_ms > 1 };\n";
    fs::write(&file, &text[..60]).unwrap();
    poll::until_async("the half is refused", async || {
        (!edited.policy().await["refused"].is_null()).then_some(())
    })
    .await;
    assert_eq!(edited.hash().await, hash);
    fs::write(&file, text).unwrap();
    edited.taken_over().await;
    assert_ne!(edited.hash().await, hash);
    assert!(edited.may_dispatch().await);
}
