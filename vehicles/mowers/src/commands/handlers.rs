//! The rows of commands, stops and their records.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use bytes::Bytes;
use interlock_surface::Method;
use uuid::Uuid;

use super::ask::Ask;
use super::bulk::{bulk, kept::Target};
use super::request::{self, StopWords};
use super::{issue, reads, stop, stoppers};
use crate::contract::{Command, CommandKind};
use crate::drive;
use crate::operations::{Answer, Effect};
use crate::service::Fleet;
use crate::service::answer::{detached, respond};
use crate::service::call::Call;
use crate::service::problem::Problem;
use crate::service::router::Route;

type Shared = State<Arc<Fleet>>;

/// Which handler serves which row.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::Post,
        "/api/v1/fleet/mowers/{mower}/commands",
        |method| on(method, command),
    ),
    Route::new(
        Method::Post,
        "/api/v1/fleet/mowers/{mower}/emergency-stop",
        |method| on(method, stop_mower),
    ),
    Route::new(
        Method::Post,
        "/api/v1/fleet/mowers/{mower}/emergency-reset",
        |method| on(method, reset),
    ),
    Route::new(
        Method::Post,
        "/api/v1/fleet/groups/{group}/commands",
        |method| on(method, command_group),
    ),
    Route::new(
        Method::Post,
        "/api/v1/fleet/sites/{site}/commands",
        |method| on(method, command_site),
    ),
    Route::new(
        Method::Post,
        "/api/v1/fleet/groups/{group}/emergency-stop",
        |method| on(method, stop_group),
    ),
    Route::new(
        Method::Post,
        "/api/v1/fleet/sites/{site}/emergency-stop",
        |method| on(method, stop_site),
    ),
    Route::new(Method::Post, "/api/v1/fleet/emergency-stop", |method| {
        on(method, stop_account)
    }),
    Route::new(Method::Get, "/api/v1/fleet/commands", |method| {
        on(method, list)
    }),
    Route::new(Method::Get, "/api/v1/fleet/commands/{command}", |method| {
        on(method, one)
    }),
    Route::new(Method::Get, "/api/v1/fleet/bulk/{bulk}", |method| {
        on(method, bulk_one)
    }),
    Route::new(Method::Get, "/api/v1/fleet/stops", |method| {
        on(method, stops_by_issuer)
    }),
];

/// Whether the row that was judged is a stop: then nothing in the body matters.
fn is_stop(call: &Call) -> bool {
    call.granted().row().kind == Some(CommandKind::EmergencyStop.as_str())
}

/// Runs to its end, also when the caller hangs up, whatever the grant asks for.
async fn run<F>(call: &Call, work: impl FnOnce(Ask) -> F) -> Response
where
    F: Future<Output = Result<Answer, Problem>> + Send + 'static,
{
    match Ask::of(call) {
        Ok(ask) => detached(work(ask)).await,
        Err(problem) => problem.into_response(),
    }
}

async fn command(
    call: Call,
    State(fleet): Shared,
    Path(mower): Path<Uuid>,
    body: Bytes,
) -> Response {
    if is_stop(&call) {
        let words = request::read_stop(&body);
        return run(&call, |ask| async move {
            stop::one(&fleet, &ask, mower, words).await
        })
        .await;
    }
    run(&call, |ask| async move {
        let mut request = request::read(&body)?;
        match request.command {
            Command::ManualDrive(frame) => {
                if ask.kind != Some(CommandKind::ManualDrive.as_str()) {
                    return Err(Problem::Internal);
                }
                drive::frame(&fleet, &ask, mower, frame).await
            }
            // A reset has a row of its own, with an attestation of its own.
            Command::ResetEmergency { .. } => Err(Problem::Invalid(vec![
                "`command.kind`: a reset is asked at `emergency-reset`".to_owned(),
            ])),
            command => {
                request.command = command;
                issue::issue(&fleet, ask, mower, request).await
            }
        }
    })
    .await
}

async fn stop_mower(call: Call, State(fleet): Shared, Path(mower): Path<Uuid>) -> Response {
    run(&call, |ask| async move {
        stop::one(&fleet, &ask, mower, StopWords::default()).await
    })
    .await
}

async fn reset(call: Call, State(fleet): Shared, Path(mower): Path<Uuid>, body: Bytes) -> Response {
    run(&call, |ask| async move {
        let request = issue::reset(request::read_reset(&body)?);
        issue::issue(&fleet, ask, mower, request).await
    })
    .await
}

async fn command_group(
    call: Call,
    State(fleet): Shared,
    Path(group): Path<Uuid>,
    body: Bytes,
) -> Response {
    command_many(&call, fleet, Target::Group(group), body).await
}

async fn command_site(
    call: Call,
    State(fleet): Shared,
    Path(site): Path<Uuid>,
    body: Bytes,
) -> Response {
    command_many(&call, fleet, Target::Site(site), body).await
}

async fn command_many(call: &Call, fleet: Arc<Fleet>, target: Target, body: Bytes) -> Response {
    if is_stop(call) {
        return stop_many(call, fleet, target, request::read_stop(&body)).await;
    }
    let granted = call.granted().clone();
    run(call, |ask| async move {
        let request = request::read_each(&body)?;
        bulk(&fleet, ask, &granted, target, request).await
    })
    .await
}

async fn stop_group(call: Call, State(fleet): Shared, Path(group): Path<Uuid>) -> Response {
    stop_many(&call, fleet, Target::Group(group), StopWords::default()).await
}

async fn stop_site(call: Call, State(fleet): Shared, Path(site): Path<Uuid>) -> Response {
    stop_many(&call, fleet, Target::Site(site), StopWords::default()).await
}

/// The gateway names the account that it judged.
async fn stop_account(call: Call, State(fleet): Shared) -> Response {
    let Ok(account) = call.account() else {
        let problem = Problem::NotStopped {
            detail: "no account is named; nothing was sent: use the buttons on the mowers"
                .to_owned(),
            effect: Effect::None,
        };
        return problem.into_response();
    };
    let target = Target::Account(account);
    stop_many(&call, fleet, target, StopWords::default()).await
}

async fn stop_many(call: &Call, fleet: Arc<Fleet>, target: Target, words: StopWords) -> Response {
    let granted = call.granted().clone();
    run(call, |ask| async move {
        stop::many::many(&fleet, &ask, &granted, target, words).await
    })
    .await
}

async fn list(call: Call, State(fleet): Shared) -> Result<Response, Problem> {
    reads::list(&fleet, &call).await.map(respond)
}

async fn one(
    call: Call,
    State(fleet): Shared,
    Path(command): Path<Uuid>,
) -> Result<Response, Problem> {
    reads::one(&fleet, &call, command).await.map(respond)
}

async fn bulk_one(
    call: Call,
    State(fleet): Shared,
    Path(bulk): Path<Uuid>,
) -> Result<Response, Problem> {
    reads::bulk(&fleet, &call, bulk).await.map(respond)
}

async fn stops_by_issuer(call: Call, State(fleet): Shared) -> Result<Response, Problem> {
    stoppers::list(&fleet, &call).await.map(respond)
}
