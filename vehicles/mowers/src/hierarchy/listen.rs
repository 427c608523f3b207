//! What the hierarchy hears on the bus: accounts that were created, changes that other replicas
//! made, and device gateways that ask which mowers there are.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::accounts;
use super::bodies::NewAccount;
use super::events::MowerEvent;
use super::roster::Member;
use crate::bus::subject::{
    ACCOUNT_CREATED, MOWER_REGISTERED, MOWER_REMOVED, MOWER_UPDATED, MOWERS_LIST,
};
use crate::bus::{BusError, Consumer, Delivery, Stream};
use crate::service::Fleet;
use crate::service::problem::Problem;

#[cfg(test)]
mod tests;

/// The pause before the bus is asked again after a failure.
const AGAIN: Duration = Duration::from_secs(1);

/// The longest pause before an account is tried again that could not be made.
const LONGEST: Duration = Duration::from_secs(60);

/// The most mowers of one answer to a device gateway.
const MOST: usize = 500;

/// The consumer of created accounts, shared by the replicas. Losing one would mean an account
/// without a default site until somebody registers a mower, so none is given up.
fn accounts_consumer() -> Consumer {
    Consumer {
        stream: Stream::Events,
        durable: Some("fleet-accounts".to_owned()),
        subjects: vec![ACCOUNT_CREATED.to_owned()],
        ack_wait: Duration::from_secs(30),
        max_deliver: 0,
        max_ack_pending: 64,
    }
}

/// The consumer of what other replicas change, one for each replica.
fn events_consumer() -> Consumer {
    Consumer {
        stream: Stream::Events,
        durable: None,
        subjects: vec![
            MOWER_REGISTERED.to_owned(),
            MOWER_UPDATED.to_owned(),
            MOWER_REMOVED.to_owned(),
        ],
        ack_wait: Duration::from_secs(30),
        max_deliver: 3,
        max_ack_pending: 1_024,
    }
}

/// Makes accounts of events for ever.
pub async fn make_accounts(fleet: Arc<Fleet>) {
    loop {
        let failed = consume_accounts(&fleet).await;
        tracing::warn!("created accounts are not heard: {failed}");
        tokio::time::sleep(AGAIN).await;
    }
}

async fn consume_accounts(fleet: &Arc<Fleet>) -> BusError {
    let mut consumer = match fleet.bus.consume(&accounts_consumer()).await {
        Ok(consumer) => consumer,
        Err(error) => return error,
    };
    loop {
        let delivery = match consumer.next().await {
            Ok(delivery) => delivery,
            Err(error) => return error,
        };
        if let Err(error) = make_account(fleet, delivery).await {
            return error;
        }
    }
}

/// Makes the account of one event, or says what is to become of the event.
async fn make_account(fleet: &Arc<Fleet>, delivery: Delivery) -> Result<(), BusError> {
    let account = match NewAccount::read(&created(&delivery.payload), false) {
        Ok(account) => account,
        Err(problem) => {
            tracing::error!(
                event = delivery.id,
                "an event of an account is no such thing: {problem}"
            );
            return delivery.receipt.reject().await;
        }
    };
    let id = account.id.clone();
    match accounts::ensure(fleet, account, None).await {
        Ok(_) => delivery.receipt.ack().await,
        Err(problem) => {
            tracing::warn!(account = id, "an account is not made yet: {problem}");
            let doublings = u32::try_from(delivery.attempt.min(6)).unwrap_or(6);
            let pause = Duration::from_secs(1 << doublings).min(LONGEST);
            delivery.receipt.retry(pause).await
        }
    }
}

/// The account in an event: `account_id` is its id, where the event has an id of its own.
fn created(payload: &Bytes) -> Vec<u8> {
    let Ok(Value::Object(mut members)) = serde_json::from_slice(payload) else {
        return payload.to_vec();
    };
    if let Some(id) = members.remove("account_id") {
        members.insert("id".to_owned(), id);
    }
    Value::Object(members).to_string().into_bytes()
}

/// Keeps the roster of this replica up to date with what others change, for ever.
pub async fn follow(fleet: Arc<Fleet>) {
    loop {
        let failed = consume_events(&fleet).await;
        tracing::warn!("changes of other replicas are not heard: {failed}");
        tokio::time::sleep(AGAIN).await;
    }
}

async fn consume_events(fleet: &Fleet) -> BusError {
    let mut consumer = match fleet.bus.consume(&events_consumer()).await {
        Ok(consumer) => consumer,
        Err(error) => return error,
    };
    loop {
        let delivery = match consumer.next().await {
            Ok(delivery) => delivery,
            Err(error) => return error,
        };
        let said = match serde_json::from_slice::<MowerEvent>(&delivery.payload) {
            Ok(event) => {
                take(fleet, event);
                delivery.receipt.ack().await
            }
            Err(error) => {
                tracing::error!(
                    event = delivery.id,
                    "an event of a mower is unreadable: {error}"
                );
                delivery.receipt.reject().await
            }
        };
        if let Err(error) = said {
            return error;
        }
    }
}

fn take(fleet: &Fleet, event: MowerEvent) {
    match event.mower {
        Some(member) => fleet.roster.put(member),
        None => fleet.roster.remove(event.mower_id, event.hierarchy_rev),
    }
}

/// What a device gateway asks at its start: mowers after one, so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MowersAsked {
    /// Only what comes after this one: the `next` of the answer before.
    pub after: Option<Uuid>,
    /// At most so many, and never more than 500.
    pub limit: Option<usize>,
}

/// What it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MowersTold {
    /// The mowers, by id.
    pub mowers: Vec<Member>,
    /// Ask for what comes after this one; none at the end.
    pub next: Option<Uuid>,
}

/// Answers device gateways for ever.
pub async fn tell_mowers(fleet: Arc<Fleet>) {
    loop {
        let failed = answer_lists(&fleet).await;
        tracing::warn!("device gateways are not heard: {failed}");
        tokio::time::sleep(AGAIN).await;
    }
}

async fn answer_lists(fleet: &Fleet) -> BusError {
    let mut listener = match fleet.bus.listen(MOWERS_LIST).await {
        Ok(listener) => listener,
        Err(error) => return error,
    };
    loop {
        let asked = match listener.next().await {
            Ok(asked) => asked,
            Err(error) => return error,
        };
        // A replica that knows nothing yet stays silent: another one answers.
        if !fleet.roster.is_loaded() {
            continue;
        }
        // No payload asks for the beginning.
        let wanted = match asked.payload.is_empty() {
            true => Ok(MowersAsked::default()),
            false => serde_json::from_slice(&asked.payload),
        };
        let told = match wanted {
            Ok(wanted) => mowers(fleet, wanted),
            Err(error) => {
                tracing::warn!("a device gateway asks for what cannot be read: {error}");
                continue;
            }
        };
        match serde_json::to_vec(&told) {
            Ok(payload) => {
                if let Err(error) = asked.reply.send(Bytes::from(payload)).await {
                    tracing::warn!("a device gateway was not answered: {error}");
                }
            }
            Err(error) => tracing::error!("the mowers have no JSON form: {error}"),
        }
    }
}

fn mowers(fleet: &Fleet, wanted: MowersAsked) -> MowersTold {
    let most = wanted.limit.unwrap_or(MOST).clamp(1, MOST);
    let all = fleet.roster.all().into_iter();
    let mut after = all.filter(|member| wanted.after.is_none_or(|id| member.mower_id > id));
    let mowers: Vec<Member> = after.by_ref().take(most).map(|it| (*it).clone()).collect();
    let next = mowers.last().map(|member| member.mower_id);
    MowersTold {
        next: next.filter(|_| after.next().is_some()),
        mowers,
    }
}

/// Makes an account as an event would: for the process that is configured with one.
///
/// # Errors
/// A [`Problem`]; nothing half applied.
pub async fn make_configured(fleet: &Arc<Fleet>, id: &str) -> Result<(), Problem> {
    let mut records = fleet.records.pool().acquire().await?;
    if super::rows::account(&mut records, id).await?.is_some() {
        return Ok(());
    }
    drop(records);
    let account = NewAccount {
        id: id.to_owned(),
        name: id.to_owned(),
        features: vec!["control".to_owned()],
        time_zone: "UTC".to_owned(),
    };
    accounts::ensure(fleet, account, None).await?;
    Ok(())
}
