//! What can be wrong with who calls.

use interlock_gateway::problem::Kind;
use interlock_tests::gateway::{Authority, Gateway, GatewayConfig};
use interlock_tests::idp::Idp;
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System, key};

use super::seen::Seen;
use crate::personas::stage;

pub(super) const KINDS: &[Kind] = &[
    Kind::Unauthenticated,
    Kind::Forbidden,
    Kind::KeysUnavailable,
];

#[tokio::test]
async fn of_the_caller_are_seen() {
    let system = System::start(Plan::ENFORCED).await;
    let mut seen = Seen::default();
    for persona in [
        Persona::Nobody,
        Persona::Forged,
        Persona::Expired,
        Persona::WrongAudience,
    ] {
        let refused = system.post(persona, "/api/missions", &stage::route()).await;
        seen.note(Kind::Unauthenticated, "none", &refused);
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert!(challenge.starts_with("Bearer "), "{challenge}");
    }
    let refused = system
        .post(Persona::Viewer, "/api/missions", &stage::route())
        .await;
    let told = seen.note(Kind::Forbidden, "none", &refused);
    assert!(told["decision"].is_string(), "the record is named: {told}");

    // A provider that was never reached: nobody can say whether a token is good.
    let mut idp = Idp::start();
    idp.close();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_owned();
    let mut config = GatewayConfig::new(system.upstream.address(), vec![key("k")], state);
    config.authority = Authority::Issuer(idp.issuer());
    let gateway = Gateway::start("keyless", config, folder.path());
    let token = Persona::Operator.token(&idp);
    let call = gateway.http().get("/api/swarm/state").token(token);
    let refused = call.send().await;
    seen.note(Kind::KeysUnavailable, "none", &refused);
    assert!(refused.header("retry-after").is_some());

    seen.all(KINDS);
    assert_eq!(system.sim.counters().starts, 0);
}
