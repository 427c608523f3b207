//! What is broken, and how it is mended.

use std::fs;
use std::path::PathBuf;

use interlock_surface::{Condition, Row};
use interlock_tests::chaos::Line;
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::idp::Mood;
use interlock_tests::poll;
use interlock_tests::stand_in::{StandIn, Word};
use interlock_tests::system::{Plan, System};
use serde_json::Value;
use tempfile::TempDir;

use crate::problems::machinery::copy;

/// One way to be in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Store,
    Keys,
    Policies,
    Records,
    /// The service says that it cannot, and did nothing.
    Unable,
    /// The service closes before it did anything.
    Silent,
    /// The service closes after it did what was asked.
    Lost,
}

/// A system with everything in its place that can be broken.
pub(crate) struct Stage {
    pub(crate) system: System,
    drones: StandIn,
    mowers: StandIn,
    bundle: PathBuf,
    _folder: TempDir,
}

impl Stage {
    pub(super) async fn set(plan: Plan, trouble: Trouble) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bundle");
        let change = |mut config: GatewayConfig| {
            copy(&config.bundle, &bundle);
            config.bundle = bundle.clone();
            if trouble == Trouble::Keys {
                // So old after two of them that it counts as stale.
                config.issuer = "refresh_ms = 200\ncooldown_ms = 100".to_owned();
            }
            config
        };
        let system = System::start_with(plan, change).await;
        let drones = StandIn::before(system.drones.address());
        system.upstream.aim(drones.address());
        let fleet = system.mowers.as_ref().expect("a plan with mowers");
        let mowers = StandIn::before(fleet.address());
        system.fleet.aim(mowers.address());
        Stage {
            system,
            drones,
            mowers,
            bundle,
            _folder: folder,
        }
    }

    /// What stands before the service of a row.
    pub(super) fn service(&self, row: &Row) -> &StandIn {
        match row.service {
            "mowers" => &self.mowers,
            _ => &self.drones,
        }
    }

    /// What becomes of calls, whichever service they are for.
    fn calls(&self, word: Word) {
        self.drones.calls(word);
        self.mowers.calls(word);
    }

    fn settling(&self, word: Word) {
        self.drones.settling(word);
        self.mowers.settling(word);
    }

    /// Waits until readiness says what is wanted.
    pub(crate) async fn told(&self, what: &str, wanted: impl Fn(&Value) -> bool) {
        told(&self.system, what, wanted).await;
    }

    fn broken_policy(&self) -> PathBuf {
        self.bundle.join("guards/90-broken.cedar")
    }

    fn records(&self) -> PathBuf {
        self.system.gateway().config.state.join("audit")
    }
}

/// Waits until the first gateway's readiness says what is wanted.
pub(crate) async fn told(system: &System, what: &str, wanted: impl Fn(&Value) -> bool) {
    let ops = system.gateway().ops();
    poll::until_async(what, async || {
        let answer = ops.get("/readyz").send().await.json();
        wanted(&answer).then_some(())
    })
    .await;
}

/// A file where the folder of the records was: no rights in the world can
/// write there.
pub(crate) fn block(records: &std::path::Path) {
    fs::remove_dir_all(records).unwrap();
    fs::write(records, "in the way").unwrap();
}

/// The folder is a folder again.
pub(crate) fn unblock(records: &std::path::Path) {
    fs::remove_file(records).unwrap();
    fs::create_dir(records).unwrap();
}

impl Trouble {
    pub(super) fn condition(self) -> Condition {
        match self {
            Trouble::Store => Condition::StoreDown,
            Trouble::Keys => Condition::KeysUnreachable,
            Trouble::Policies => Condition::BadPolicyReload,
            Trouble::Records => Condition::AuditFailing,
            Trouble::Unable => Condition::EffectNone,
            Trouble::Silent | Trouble::Lost => Condition::EffectUnclear,
        }
    }

    pub(super) async fn begin(self, stage: &Stage) {
        match self {
            Trouble::Store => stage.system.store.set(Line::Reset),
            Trouble::Keys => {
                stage.system.idp.set(Mood::Failing);
                let stale = |told: &Value| told["issuers"][0]["stale"] == true;
                stage.told("the keys are past their age", stale).await;
            }
            Trouble::Policies => {
                fs::write(stage.broken_policy(), "permit (principal, action").unwrap();
                let refused = |told: &Value| !told["policy"]["refused"].is_null();
                stage.told("the broken bundle is refused", refused).await;
            }
            Trouble::Records => block(&stage.records()),
            Trouble::Unable => stage.calls(Word::Unable),
            Trouble::Silent => stage.calls(Word::Silent),
            Trouble::Lost => stage.calls(Word::Lost),
        }
        // What is in doubt stays so until it is mended.
        if matches!(self, Trouble::Silent | Trouble::Lost) {
            stage.settling(Word::Unable);
        }
    }

    pub(super) async fn end(self, stage: &Stage) {
        match self {
            Trouble::Store => {
                stage.system.store.set(Line::Up);
                let back = |told: &Value| told["store"]["ready"] == true;
                stage.told("the store is back", back).await;
            }
            Trouble::Keys => stage.system.idp.set(Mood::Serving),
            Trouble::Policies => {
                fs::remove_file(stage.broken_policy()).unwrap();
                let taken = |told: &Value| told["policy"]["refused"].is_null();
                stage.told("the mended bundle is taken", taken).await;
            }
            Trouble::Records => unblock(&stage.records()),
            Trouble::Unable | Trouble::Silent | Trouble::Lost => {
                stage.calls(Word::Passes);
                stage.settling(Word::Passes);
            }
        }
    }
}
