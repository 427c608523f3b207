//! What the hierarchy hears on the bus: accounts that were created, and changes that other replicas
//! made.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::accounts;
use super::bodies::NewAccount;
use super::events::MowerEvent;
use super::reconcile;
use crate::bus::subject::{ACCOUNT_CREATED, MOWER_REGISTERED, MOWER_REMOVED, MOWER_UPDATED};
use crate::bus::{BusError, Consumer, Delivery, Stream};
use crate::service::Fleet;
use crate::service::problem::Problem;

/// The pause before the bus is asked again after a failure.
const AGAIN: Duration = Duration::from_secs(1);

/// Failures with the configured account that are no news.
const PATIENT: u32 = 5;

/// The longest pause before an account is tried again that could not be made.
const LONGEST: Duration = Duration::from_secs(60);

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
    match accounts::ensure(fleet, account).await {
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
    // It hears only of what comes from here on: what came while it did not listen is read.
    if let Err(error) = reconcile::load_roster(fleet).await {
        tracing::warn!("the roster is read again later: {error}");
    }
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

/// Makes the configured account where it is missing, with a plan that includes everything; tries
/// until it stands.
pub async fn make_configured(fleet: Arc<Fleet>, id: String) {
    let mut failures = 0;
    while let Err(problem) = make_missing(&fleet, &id).await {
        failures += 1;
        // The gateway may begin after this service.
        match failures <= PATIENT {
            true => tracing::info!(account = id, "the configured account waits: {problem}"),
            false => tracing::warn!(
                account = id,
                "the configured account is not made yet: {problem}"
            ),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn make_missing(fleet: &Arc<Fleet>, id: &str) -> Result<(), Problem> {
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
    accounts::ensure(fleet, account).await?;
    Ok(())
}
