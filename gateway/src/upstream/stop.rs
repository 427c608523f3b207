//! A stop goes to every address of its service if it must.
//!
//! Repeating a stop does no harm, and a stop that nobody carries out does. So
//! the address in use is asked first, the next one when it fails or is silent
//! for the time of an attempt, and the first word that it is done ends the
//! call. Nothing is cut short: an address that works long on a large fleet may
//! still answer within the total budget.

use std::collections::VecDeque;
use std::iter;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::StatusCode;
use tokio::time::{Instant, sleep, timeout_at};

use crate::effect::Effect;
use crate::upstream::addresses::Address;
use crate::upstream::body::Answer;
use crate::upstream::deadline::{Budget, Deadline};
use crate::upstream::forward::Service;
use crate::upstream::outcome::{NotSentCause, Outcome};
use crate::upstream::{Lane, Outbound, OutboundBody, StopCall};

/// Pauses before an address is asked again; the last one repeats.
const PAUSES: [u64; 4] = [10, 20, 50, 100];

/// The largest answer to a stop that is passed on. One that stops a fleet says
/// of up to a thousand vehicles what became of each, and why: an answer that is
/// too large would read as if nobody knew.
pub const ANSWER_BYTES: usize = 1024 * 1024;

/// What an attempt says of the stop.
enum Word {
    /// It is done.
    Done(Outcome),
    /// Nothing happened, and that may pass.
    Nothing(Outcome),
    /// Nothing happened, and nothing will: the service refuses it.
    Refused(Outcome),
    /// It may have been done.
    Doubt(Outcome),
}

/// What is known of a stop that no address has carried out yet.
#[derive(Default)]
struct Known {
    nothing: Option<Outcome>,
    refused: Option<Outcome>,
    doubt: Option<Outcome>,
}

impl Service {
    pub(super) async fn forward_stop(&self, stop: &StopCall, budget: &Budget) -> Outcome {
        let count = self.addresses.count();
        let deadline = Deadline::start(budget, count);
        let first = self.addresses.in_use();
        let others = self.addresses.after(first, Instant::now());
        let mut idle: VecDeque<&Address> = iter::once(first).chain(others).collect();
        let mut asked = FuturesUnordered::new();
        let mut attempts = 0_usize;
        let mut known = Known::default();
        loop {
            let pause = pause(attempts.checked_sub(count));
            if known.leaves_room(&deadline, pause)
                && let Some(address) = idle.pop_front()
            {
                attempts += 1;
                asked.push(self.ask(address, pause, stop, &deadline));
            }
            let silent = deadline.attempt().head;
            match timeout_at(silent, asked.next()).await {
                Ok(Some((_, Word::Done(outcome)))) => return outcome,
                Ok(Some((address, Word::Nothing(outcome)))) => {
                    known.nothing = Some(outcome);
                    idle.push_back(address);
                }
                Ok(Some((_, Word::Refused(outcome)))) => known.refused = Some(outcome),
                Ok(Some((_, Word::Doubt(outcome)))) => known.doubt = Some(outcome),
                Ok(None) => return known.outcome(),
                // The next one is asked beside it.
                Err(_) => {}
            }
        }
    }

    /// Asks one address, after a pause.
    async fn ask<'a>(
        &self,
        address: &'a Address,
        pause: Duration,
        stop: &StopCall,
        deadline: &Deadline,
    ) -> (&'a Address, Word) {
        if !pause.is_zero() {
            sleep(pause).await;
        }
        let silent = deadline.attempt().head;
        let attempt = self.at(address, Lane::Stop, stop.outbound(), deadline.patient());
        let mut attempt = Box::pin(attempt);
        let outcome = match timeout_at(silent, &mut attempt).await {
            Ok(outcome) => outcome,
            Err(_) => {
                // Whoever comes now is better served elsewhere.
                self.addresses.failed(address, Instant::now());
                attempt.await
            }
        };
        (address, read(outcome).await)
    }
}

impl Known {
    /// Whether another address may be asked after `pause`.
    fn leaves_room(&self, deadline: &Deadline, pause: Duration) -> bool {
        match (&self.refused, &self.doubt, &self.nothing) {
            (Some(_), _, _) => false,
            // An attempt cut off while the service works on it would turn its
            // word that nothing happened into doubt.
            (None, None, Some(Outcome::Answered(_))) => deadline.allows_whole(pause),
            _ => deadline.allows(pause),
        }
    }

    /// The worst that is known: what one address refused, another one may have
    /// done.
    fn outcome(self) -> Outcome {
        let Self {
            nothing,
            refused,
            doubt,
        } = self;
        doubt.or(refused).or(nothing).unwrap_or(Outcome::NotSent {
            cause: NotSentCause::Deadline,
        })
    }
}

impl StopCall {
    fn outbound(&self) -> Outbound {
        Outbound {
            method: self.method.clone(),
            path_and_query: self.path_and_query.clone(),
            headers: self.headers.clone(),
            grant: self.grant.clone(),
            client: self.client,
            body: OutboundBody::whole(self.body.clone()),
            stream: false,
            repeatable: true,
        }
    }
}

/// The pause before an attempt: none until every address was asked once.
fn pause(repeats: Option<usize>) -> Duration {
    let Some(repeats) = repeats else {
        return Duration::ZERO;
    };
    let millis = PAUSES.get(repeats).or(PAUSES.last());
    millis.map_or(Duration::ZERO, |millis| Duration::from_millis(*millis))
}

/// Reads an answer whole, and what it says.
async fn read(outcome: Outcome) -> Word {
    let response = match outcome {
        Outcome::NotSent { .. } => return Word::Nothing(outcome),
        Outcome::Unknown { .. } => return Word::Doubt(outcome),
        Outcome::Answered(response) => response,
    };
    let answer = match Answer::read(response, ANSWER_BYTES).await {
        Ok(answer) => answer,
        Err(cause) => return Word::Doubt(Outcome::Unknown { cause }),
    };
    let (status, effect) = (answer.status, answer.effect());
    let told = Outcome::Answered(answer.into_response());
    match effect {
        Effect::Done => Word::Done(told),
        Effect::Maybe => Word::Doubt(told),
        Effect::None if status == StatusCode::SERVICE_UNAVAILABLE => Word::Nothing(told),
        Effect::None => Word::Refused(told),
    }
}
