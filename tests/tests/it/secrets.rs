//! After a whole run with everything logged, no secret lies anywhere but where
//! it belongs: not in a log, a store, a metric, a record or an error.

mod fleet;
mod forms;
mod places;

use interlock_tests::personas::Persona;
use interlock_tests::process::Signal;
use interlock_tests::sent::Sent;
use interlock_tests::system::{Plan, System};
use serde_json::json;

use crate::personas::stage::{self, route};
use forms::Secret;
use places::Places;

const PLANS: &str = "/api/mission-plans";

/// What a run leaves behind: every answer but the one that shows the code, and
/// every secret that took part.
#[derive(Default)]
struct Run {
    answers: Vec<(String, String)>,
    secrets: Vec<Secret>,
}

impl Run {
    /// Makes a call and keeps the answer, headers included.
    async fn ask(&mut self, system: &System, persona: Persona, call: Ask<'_>) -> u16 {
        let token = persona.token(&system.idp);
        let mut request = system.gateway().http().call(call.method, call.path);
        request = request.token(token.as_ref());
        if let Some(token) = token {
            self.secrets.push(Secret::token(persona.name(), &token));
        }
        if let Some(key) = call.key {
            request = request.key(key);
        }
        if let Some(body) = call.body {
            request = request.body("application/json", body.to_owned());
        }
        let answer = request.send().await;
        let what = format!("{} {} answered {}", call.method, call.path, answer.status);
        self.answers
            .push((what, format!("{:?}\n{}", answer.headers, answer.text())));
        answer.status
    }
}

#[derive(Clone, Copy)]
struct Ask<'a> {
    method: &'a str,
    path: &'a str,
    body: Option<&'a str>,
    key: Option<&'a str>,
}

fn get(path: &str) -> Ask<'_> {
    Ask {
        method: "GET",
        path,
        body: None,
        key: None,
    }
}

fn post<'a>(path: &'a str, body: Option<&'a str>, key: Option<&'a str>) -> Ask<'a> {
    Ask {
        method: "POST",
        path,
        body,
        key,
    }
}

/// Everything that people do, and much that they do wrong.
async fn run(system: &mut System) -> Run {
    let mut run = Run::default();
    system.upstream.listen();
    system.feed.listen();

    // Propose, approve once, ask for the code again.
    let plan = stage::pending(system).await;
    let path = format!("{PLANS}/{plan}");
    let (approve, dispatch) = (format!("{path}/approve"), format!("{path}/dispatch"));
    let token = Persona::Approver.token(&system.idp);
    let http = system.gateway().http();
    let approved = http.post(&approve).token(token.as_ref()).key("approve-1");
    let code = approved.send().await.expect(200).json()["approvalCode"].clone();
    let code = code.as_str().expect("a code").to_owned();
    run.secrets.push(Secret::code(&code));
    run.secrets
        .push(Secret::token("the approver", &token.expect("a token")));
    let replayed = post(&approve, None, Some("approve-1"));
    assert_eq!(run.ask(system, Persona::Approver, replayed).await, 200);
    let again = post(&approve, None, None);
    assert_eq!(run.ask(system, Persona::Approver, again).await, 409);
    run.ask(system, Persona::Viewer, get(&path)).await;
    run.ask(system, Persona::Viewer, get(PLANS)).await;

    // The code where it does not belong, and among broken things.
    let wrong = json!({ "approvalCode": "A".repeat(32) }).to_string();
    let right = json!({ "approvalCode": code }).to_string();
    let twice = format!("{{\"approvalCode\":\"{code}\",\"approvalCode\":\"{code}\"}}");
    let renamed = json!({ "code": code, code.as_str(): 1 }).to_string();
    let short = json!({ "approvalCode": &code[..31] }).to_string();
    let broken = &right[..right.len() - 1];
    for body in [&wrong, &twice, &renamed, &short, broken] {
        let status = run
            .ask(system, Persona::Operator, post(&dispatch, Some(body), None))
            .await;
        assert!((400..500).contains(&status), "{status}");
    }
    let in_query = format!("{dispatch}?approvalCode={code}");
    assert_eq!(
        run.ask(system, Persona::Operator, get(&in_query)).await,
        400
    );
    let as_key = post(&dispatch, Some(&wrong), Some(&code));
    assert_eq!(run.ask(system, Persona::Operator, as_key).await, 403);
    let to_start = post("/api/missions", Some(&right), None);
    assert_eq!(run.ask(system, Persona::Operator, to_start).await, 400);
    let by_viewer = post(&dispatch, Some(&right), None);
    assert_eq!(run.ask(system, Persona::Viewer, by_viewer).await, 403);
    for persona in Persona::ALL {
        run.ask(system, persona, get("/api/swarm/state")).await;
    }
    let in_query = format!(
        "/api/swarm/state?access_token={}",
        Persona::Viewer.token(&system.idp).expect("a token")
    );
    run.ask(system, Persona::Viewer, get(&in_query)).await;

    // It flies once; a second dispatch, a replay, a stop.
    let fly = post(&dispatch, Some(&right), Some("dispatch-1"));
    assert_eq!(run.ask(system, Persona::Operator, fly).await, 201);
    run.ask(system, Persona::Operator, fly).await;
    let second = post(&dispatch, Some(&right), Some("dispatch-2"));
    assert_eq!(run.ask(system, Persona::Operator, second).await, 409);
    let land = post("/api/swarm/land", None, Some("land-1"));
    assert_eq!(run.ask(system, Persona::Viewer, land).await, 202);
    stage::ground(system).await;

    // One is rejected, one is left in doubt and settled.
    let reject = format!("{PLANS}/{}/reject", stage::pending(system).await);
    let reject = post(&reject, None, None);
    assert_eq!(run.ask(system, Persona::Approver, reject).await, 200);
    settled(system, &mut run).await;

    for sent in Sent::all(&system.upstream.listen()) {
        run.secrets.push(Secret::token("a grant", sent.grant()));
    }
    run.secrets
        .push(Secret::key(&system.gateway().config.keys[0]));
    run
}

/// A dispatch whose answer is lost, and what the service says of it later.
async fn settled(system: &mut System, run: &mut Run) {
    let (plan, code) = stage::approved(system).await;
    run.secrets.push(Secret::code(&code));
    let path = format!("{PLANS}/{plan}");
    let dispatch = format!("{path}/dispatch");
    system.drones.process.signal(Signal::Stop);
    let body = json!({ "approvalCode": code }).to_string();
    let lost = run
        .ask(
            system,
            Persona::Operator,
            post(&dispatch, Some(&body), None),
        )
        .await;
    assert!(lost >= 500, "{lost}");
    system.drones.process.signal(Signal::Continue);
    interlock_tests::poll::until_async("the plan is settled", async || {
        let plan = system.get(Persona::Viewer, &path).await.expect(200).json();
        let open = ["Dispatching", "Unknown"]
            .iter()
            .any(|state| plan["status"] == *state);
        (!open).then_some(())
    })
    .await;
    run.ask(system, Persona::Viewer, get(&path)).await;
}

async fn check(plan: Plan) {
    let mut system = System::start(plan.with_mowers()).await;
    let mut run = run(&mut system).await;
    fleet::run(&system, &mut run).await;
    for path in ["/metrics", "/readyz", "/livez", "/policy", "/audit/head"] {
        let answer = system.gateway().ops().get(path).send().await;
        let text = format!("{:?}\n{}", answer.headers, answer.text());
        run.answers.push((format!("GET {path}"), text));
    }
    // Everything was on: without it, nothing below would say anything.
    let said = system.gateway().process.stderr() + &system.drones.process.stderr();
    assert!(said.contains("\"level\":\"DEBUG\"") || said.contains("\"level\":\"TRACE\""));
    let mowers = system.mowers.as_ref().expect("mowers");
    for process in [&system.drones.process, &mowers.process] {
        assert!(
            process.stderr().contains("TRACE"),
            "the service logs at TRACE"
        );
    }

    let places = Places::of(&system, &run.answers).await;
    let kinds = [
        "gateway-1.err",
        "drones.err",
        "gateway-1/audit",
        "drones.db",
        "mowers.err",
        "mowers.db",
        "device-gateway",
    ];
    for kind in kinds {
        assert!(
            places.has(kind),
            "`{kind}` is looked at: {:?}",
            places.names()
        );
    }
    let store = if plan.redis {
        "redis"
    } else {
        "gateway-1/gateway.db"
    };
    assert!(places.has(store), "`{store}` is looked at");
    for secret in &run.secrets {
        assert_eq!(
            places.holding(secret),
            Vec::<String>::new(),
            "{}",
            secret.what()
        );
    }
    planted(&system, &run).await;
}

/// A secret is found wherever it lies, in every form, so that finding none
/// means something.
async fn planted(system: &System, run: &Run) {
    let code = &run.secrets[0];
    for form in code.forms() {
        std::fs::write(system.folder().join("planted.log"), format!("a {form} b")).unwrap();
        let found = Places::of(system, &[]).await.holding(code);
        assert_eq!(found, ["planted.log"], "{form}");
    }
    std::fs::remove_file(system.folder().join("planted.log")).unwrap();
    let form = code.forms()[0].clone();
    let answers = [("an answer".to_owned(), format!("x{form}y"))];
    assert_eq!(
        Places::of(system, &answers).await.holding(code),
        ["an answer"]
    );
    match &system.redis {
        Some(redis) => {
            redis.command::<()>(&["HSET", "interlock:planted", "field", &form]);
            let found = Places::of(system, &[]).await.holding(code);
            assert!(
                found.iter().all(|place| place.starts_with("redis")),
                "{found:?}"
            );
            assert_eq!(
                found.len(),
                2,
                "in what Redis tells and in its file: {found:?}"
            );
        }
        None => {
            places::plant(&system.folder().join("planted.db"), &form).await;
            let found = Places::of(system, &[]).await.holding(code);
            assert!(!found.is_empty());
            assert!(
                found.iter().all(|place| place.starts_with("planted.db")),
                "{found:?}"
            );
        }
    }
}

#[tokio::test]
async fn no_secret_is_left_behind_on_the_embedded_store() {
    check(Plan::ENFORCED).await;
}

#[tokio::test]
async fn no_secret_is_left_behind_on_redis() {
    check(Plan::REDIS).await;
}

/// Nobody can be made to look at a plan for its code, not even who got it.
#[tokio::test]
async fn a_code_is_shown_once() {
    let system = System::start(Plan::ENFORCED).await;
    let plan = system
        .post(Persona::Proposer, PLANS, &route())
        .await
        .expect(201)
        .json();
    let approve = format!("{PLANS}/{}/approve", plan["id"].as_str().unwrap());
    let call = || system.call(Persona::Approver, "POST", &approve).key("one");
    let first = call().send().await.expect(200);
    let code = first.json()["approvalCode"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let again = call().send().await.expect(200);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert!(again.json()["approvalCode"].is_null(), "{}", again.text());
        assert!(!again.text().contains(&code));
    }
}
