//! A gateway on a bundle that a test may edit.

use std::fs;
use std::path::{Path, PathBuf};

use interlock_tests::gateway::GatewayConfig;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::personas::stage;
use crate::problems::machinery::copy;

/// Nobody dispatches.
const GUARD: &str = "@id(\"guard.dispatch.closed\")
@advice(\"Nothing flies today.\")
forbid (
  principal,
  action == Action::\"plan_dispatch\",
  resource
);
";

/// A system whose bundle is a copy.
pub(super) struct Edited {
    pub(super) system: System,
    bundle: PathBuf,
    /// The bundle as it came.
    original: PathBuf,
    /// A plan that nobody approved, to ask about.
    plan: String,
    _folder: TempDir,
}

impl Edited {
    /// Looks at the bundle as often as `poll_ms` says, or as usual.
    pub(super) async fn start(poll_ms: Option<u32>) -> Edited {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bundle");
        let original = folder.path().join("original");
        let change = |mut config: GatewayConfig| {
            copy(&config.bundle, &bundle);
            copy(&config.bundle, &original);
            config.bundle = bundle.clone();
            if let Some(every) = poll_ms {
                let variable = ("INTERLOCK_POLICIES_POLL_MS".to_owned(), every.to_string());
                config.environment.push(variable);
            }
            config
        };
        let system = System::start_with(Plan::ENFORCED, change).await;
        let plan = stage::pending(&system).await;
        Edited {
            system,
            bundle,
            original,
            plan,
            _folder: folder,
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.bundle.join(name)
    }

    /// The bundle's folder.
    pub(super) fn bundle(&self) -> &Path {
        &self.bundle
    }

    /// Puts everything back as it came.
    pub(super) fn restore(&self) {
        if self.bundle.exists() {
            fs::remove_dir_all(&self.bundle).unwrap();
        }
        copy(&self.original, &self.bundle);
    }

    /// Forbids dispatch to everybody, in the cases too: who decides must say so.
    pub(super) fn close(&self) {
        let file = self.file("cases/plans.json");
        let mut cases: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let mut changed = 0;
        for case in cases.as_array_mut().unwrap() {
            if case["request"]["action"] != "Action::\"plan_dispatch\"" {
                continue;
            }
            let mut reasons: Vec<Value> = match case["decision"] == "deny" {
                true => case["reason"].as_array().unwrap().clone(),
                false => Vec::new(),
            };
            reasons.push(json!("guard.dispatch.closed"));
            reasons.sort_by_key(|reason| reason.as_str().unwrap_or_default().to_owned());
            case["reason"] = reasons.into();
            case["decision"] = json!("deny");
            changed += 1;
        }
        assert!(changed >= 2, "{changed} cases of dispatch");
        fs::write(&file, cases.to_string()).unwrap();
        fs::write(self.file("guards/90-closed.cedar"), GUARD).unwrap();
    }

    /// Whether an operator may dispatch, as the decision is felt: nothing flies
    /// either way, since the plan was never approved.
    pub(super) async fn may_dispatch(&self) -> bool {
        let path = format!("/api/mission-plans/{}/dispatch", self.plan);
        let body = json!({ "approvalCode": "A".repeat(32) });
        let answer = self.system.post(Persona::Operator, &path, &body).await;
        match (answer.status, answer.problem().as_str()) {
            (403, "forbidden") => false,
            (409, _) => true,
            _ => panic!("answered {} {}", answer.status, answer.text()),
        }
    }

    /// `GET /policy`.
    pub(super) async fn policy(&self) -> Value {
        let answer = self.system.gateway().ops().get("/policy").send().await;
        answer.expect(200).json()
    }

    /// The hash in force, as readiness has it.
    pub(super) async fn hash(&self) -> String {
        let ready = self.system.gateway().ops().get("/readyz").send().await;
        let hash = ready.expect(200).json()["policy"]["hash"].clone();
        hash.as_str().unwrap().to_owned()
    }

    /// Waits until the last edit is in force and nothing is refused.
    pub(super) async fn taken_over(&self) {
        poll::until_async("the bundle is whole again", async || {
            self.policy().await["refused"].is_null().then_some(())
        })
        .await;
    }

    /// The bundle hash of the last record about a dispatch.
    pub(super) fn recorded(&self) -> Option<String> {
        let folder = self.system.gateway().config.state.join("audit");
        let mut lines = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            lines.extend(text.lines().map(str::to_owned));
        }
        let records = lines
            .iter()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of_dispatch =
            records.filter(|record| record.to_string().contains("drones.plan.dispatch"));
        let bundle = |record: Value| find(&record, "bundle");
        of_dispatch.filter_map(bundle).next_back()
    }
}

/// The first text of that name, however deep.
fn find(value: &Value, name: &str) -> Option<String> {
    match value {
        Value::Object(fields) => match fields.get(name).and_then(Value::as_str) {
            Some(text) => Some(text.to_owned()),
            None => fields.values().find_map(|value| find(value, name)),
        },
        Value::Array(items) => items.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}
