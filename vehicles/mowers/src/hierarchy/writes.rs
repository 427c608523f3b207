//! Handlers that change the hierarchy. Each reads its body, asks the gateway about what the body
//! names, and makes one change.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use sqlx::AnyConnection;
use uuid::Uuid;

use super::bodies::{self, MowerFields, NewAccount, NewGroup, NewMower, Placement, SiteFields};
use super::change::{Ask, Change, Unbegun};
use super::model::Node;
use super::references::{managed, managed_mower};
use super::{accounts, groups, mowers, rows, sites};
use crate::operations::Answer;
use crate::service::Fleet;
use crate::service::answer::detached;
use crate::service::call::Call;
use crate::service::problem::Problem;

type Shared = State<Arc<Fleet>>;

/// `POST /internal/accounts`
pub(super) async fn make_account(call: Call, State(fleet): Shared, body: Bytes) -> Response {
    detached(async move {
        let account = NewAccount::read(&body, true)?;
        call.in_time(fleet.now())?;
        accounts::ask(&fleet, &account, accounts::MADE_WITHIN).await
    })
    .await
}

/// `PATCH /internal/accounts/{account}`
pub(super) async fn change_account(
    call: Call,
    State(fleet): Shared,
    Path(account): Path<String>,
    body: Bytes,
) -> Response {
    changed(async move {
        let suspended = bodies::suspended(&body)?;
        let ask = of(&fleet, &call, account.clone())?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = accounts::suspend(&mut change, suspended).await;
        let answer = change.conclude(outcome).await?;
        let done = if suspended { "suspended" } else { "resumed" };
        traced(&call, &account, done);
        Ok(answer)
    })
    .await
}

/// `DELETE /internal/accounts/{account}`
pub(super) async fn delete_account(
    call: Call,
    State(fleet): Shared,
    Path(account): Path<String>,
) -> Response {
    changed(async move {
        let ask = of(&fleet, &call, account.clone())?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = accounts::delete(&mut change).await;
        let answer = change.conclude(outcome).await?;
        traced(&call, &account, "removed");
        Ok(answer)
    })
    .await
}

/// No decision of the gateway's is on record for what an operator does here: this line is.
fn traced(call: &Call, account: &str, done: &'static str) {
    let caller = call.granted().caller();
    tracing::info!(
        account,
        done,
        issuer = caller.issuer,
        subject = caller.subject,
        operation = ?call.granted().operation(),
        "an account was changed by its operator"
    );
}

/// `POST /sites`
pub(super) async fn create_site(call: Call, State(fleet): Shared, body: Bytes) -> Response {
    changed(async move {
        let fields = SiteFields::read(&body, true)?;
        let id = Uuid::now_v7();
        let ask = Ask {
            created: vec![Node::Site(id)],
            make_account: true,
            ..of(&fleet, &call, call.account()?)?
        };
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = sites::create(&mut change, id, &fields).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `PATCH /sites/{site}`
pub(super) async fn change_site(
    call: Call,
    State(fleet): Shared,
    Path(id): Path<Uuid>,
    body: Bytes,
) -> Response {
    changed(async move {
        let fields = SiteFields::read(&body, false)?;
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Site(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = sites::update(&mut change, &call, id, &fields).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `DELETE /sites/{site}`
pub(super) async fn delete_site(
    call: Call,
    State(fleet): Shared,
    Path(id): Path<Uuid>,
) -> Response {
    changed(async move {
        let move_to = call.id("move_to")?;
        if move_to == Some(id) {
            let fault = "`move_to` must name another site".to_owned();
            return Err(Problem::Invalid(vec![fault]).into());
        }
        managed(&fleet, &call, ("`move_to`", move_to), &[]).await?;
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Site(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = sites::delete(&mut change, &call, id, move_to).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `POST /groups`
pub(super) async fn create_group(call: Call, State(fleet): Shared, body: Bytes) -> Response {
    changed(async move {
        let group = NewGroup::read(&body)?;
        managed(&fleet, &call, ("`site_id`", group.site_id), &[]).await?;
        let id = Uuid::now_v7();
        let ask = Ask {
            created: vec![Node::Group(id)],
            make_account: true,
            ..of(&fleet, &call, call.account()?)?
        };
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = groups::create(&mut change, id, &group).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `PATCH /groups/{group}`
pub(super) async fn change_group(
    call: Call,
    State(fleet): Shared,
    Path(id): Path<Uuid>,
    body: Bytes,
) -> Response {
    changed(async move {
        let name = bodies::group_change(&body)?;
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Group(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = groups::update(&mut change, &call, id, name.as_deref()).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `DELETE /groups/{group}`
pub(super) async fn delete_group(
    call: Call,
    State(fleet): Shared,
    Path(id): Path<Uuid>,
) -> Response {
    changed(async move {
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Group(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = groups::delete(&mut change, &call, id).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `PUT /groups/{group}/mowers/{mower}`
pub(super) async fn add_to_group(
    call: Call,
    State(fleet): Shared,
    Path((id, mower)): Path<(Uuid, Uuid)>,
) -> Response {
    changed(async move {
        managed_mower(&fleet, &call, mower).await?;
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Group(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = groups::add(&mut change, &call, id, mower).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `DELETE /groups/{group}/mowers/{mower}`
pub(super) async fn remove_from_group(
    call: Call,
    State(fleet): Shared,
    Path((id, mower)): Path<(Uuid, Uuid)>,
) -> Response {
    changed(async move {
        managed_mower(&fleet, &call, mower).await?;
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Group(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = groups::remove(&mut change, &call, id, mower).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `POST /mowers`
pub(super) async fn register(call: Call, State(fleet): Shared, body: Bytes) -> Response {
    changed(async move {
        let mower = NewMower::read(&body)?;
        managed(
            &fleet,
            &call,
            ("`site_id`", mower.site_id),
            &mower.group_ids,
        )
        .await?;
        let (id, site) = (Uuid::now_v7(), Uuid::now_v7());
        let account = call.account()?;
        let ask = Ask {
            created: vec![
                Node::Account(account.clone()),
                Node::Site(site),
                Node::Mower(id),
            ],
            make_account: true,
            ..of(&fleet, &call, account)?
        };
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = mowers::register(&mut change, id, site, &mower).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `PATCH /mowers/{mower}`
pub(super) async fn change_mower(
    call: Call,
    State(fleet): Shared,
    Path(id): Path<Uuid>,
    body: Bytes,
) -> Response {
    changed(async move {
        let fields = MowerFields::read(&body)?;
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Mower(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = mowers::update(&mut change, &call, id, &fields).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `PUT /mowers/{mower}/placement`
pub(super) async fn place(
    call: Call,
    State(fleet): Shared,
    Path(id): Path<Uuid>,
    body: Bytes,
) -> Response {
    changed(async move {
        let placement = Placement::read(&body)?;
        let site = Some(placement.site_id);
        managed(&fleet, &call, ("`site_id`", site), &placement.group_ids).await?;
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Mower(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = mowers::place(&mut change, &call, id, &placement).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// `DELETE /mowers/{mower}`
pub(super) async fn delete_mower(
    call: Call,
    State(fleet): Shared,
    Path(id): Path<Uuid>,
) -> Response {
    changed(async move {
        let ask = of(&fleet, &call, account_of(&fleet, &Node::Mower(id)).await?)?;
        let mut change = Change::begin(&fleet, ask).await?;
        let outcome = mowers::delete(&mut change, &call, id).await;
        Ok(change.conclude(outcome).await?)
    })
    .await
}

/// Makes a change, detached from the request; one that was made before is answered as it was.
async fn changed(work: impl Future<Output = Result<Answer, Unbegun>> + Send + 'static) -> Response {
    detached(async {
        match work.await {
            Ok(answer) | Err(Unbegun::Repeated(answer)) => Ok(answer),
            Err(Unbegun::Problem(problem)) => Err(problem),
        }
    })
    .await
}

/// The change that a request asks for.
fn of(fleet: &Fleet, call: &Call, account: String) -> Result<Ask, Problem> {
    call.in_time(fleet.now())?;
    Ok(Ask {
        operation: Some((call.operation()?, call.granted().row().name)),
        account,
        created: Vec::new(),
        make_account: false,
    })
}

/// The account of a node; it never changes.
async fn account_of(fleet: &Fleet, node: &Node) -> Result<String, Problem> {
    let mut records = fleet.records.pool().acquire().await?;
    let records: &mut AnyConnection = &mut records;
    let found = match node {
        Node::Account(id) => Some(id.clone()),
        Node::Site(id) => rows::site(records, *id).await?.map(|it| it.account_id),
        Node::Group(id) => rows::group(records, *id).await?.map(|it| it.account_id),
        Node::Mower(id) => rows::mower(records, *id).await?.map(|it| it.account_id),
    };
    found.ok_or(Problem::NotFound)
}
