//! What the holder of a mower is asked: its map, its capabilities, its state.

use std::sync::Arc;

use serde::Serialize;

use super::held::Held;
use super::shared::{Shared, answer};
use super::wire::{Ask, AskAnswer};
use crate::bus::{Asked, subject};
use crate::contract::{PathError, PathErrorCode};

/// What is asked for: the last token of the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Map,
    Capabilities,
    State,
}

impl What {
    pub(crate) const ALL: [Self; 3] = [Self::Map, Self::Capabilities, Self::State];

    /// The subject to listen on.
    pub(crate) const fn pattern(self) -> &'static str {
        match self {
            Self::Map => subject::MAPS,
            Self::Capabilities => subject::CAPABILITIES,
            Self::State => subject::STATES,
        }
    }
}

/// Answers for a mower that this shard holds; keeps silent otherwise.
pub(crate) fn route(shared: &Arc<Shared>, what: What, asked: Asked) {
    let Some(held) = subject::mower(&asked.subject).and_then(|id| shared.held(id)) else {
        return;
    };
    shared.run(|shared| async move {
        let known = match serde_json::from_slice::<Ask>(&asked.payload) {
            Ok(ask) => ask.account_id == held.account_id,
            Err(_) => {
                shared.metrics.malformed.add();
                false
            }
        };
        match what {
            _ if !known => {
                let error = PathError {
                    code: PathErrorCode::Forbidden,
                    detail: "the mower is not of this account".to_owned(),
                };
                answer(asked.reply, &AskAnswer::<()>::Error(error)).await;
            }
            What::Map => found(asked, &*held.connection.map()).await,
            What::Capabilities => found(asked, &*held.connection.capabilities()).await,
            What::State => found(asked, &*state(&held)).await,
        }
    });
}

fn state(held: &Held) -> Arc<crate::contract::MowerState> {
    Arc::clone(&held.connection.state().borrow())
}

async fn found<T: Serialize>(asked: Asked, value: &T) {
    answer(asked.reply, &AskAnswer::Found(value)).await;
}
