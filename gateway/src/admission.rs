//! How many requests may be under way at once. Stops are not counted: a flood
//! of other calls must not hold one back.

use std::sync::Arc;

use interlock_surface::Class;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Kind, Problem};
use crate::server;

/// Places for requests that are not stops.
pub struct Admission {
    places: Arc<Semaphore>,
}

/// A place taken; given back when dropped. Stops hold none.
pub struct Place(#[expect(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>);

impl Admission {
    /// With `places` requests at once.
    pub fn new(places: usize) -> Self {
        Admission {
            places: Arc::new(Semaphore::new(places)),
        }
    }

    /// Takes a place without waiting: a queue would only make the answer late.
    ///
    /// # Errors
    /// 503 `overloaded`. Never for a stop.
    pub fn enter(&self, connection: server::Admission, class: Class) -> Result<Place, Problem> {
        if class == Class::SafetyWrite {
            return Ok(Place(None));
        }
        if connection == server::Admission::StopsOnly {
            return Err(full());
        }
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => Ok(Place(Some(place))),
            Err(_) => Err(full()),
        }
    }
}

fn full() -> Problem {
    Problem::new(Kind::Overloaded, "all places for requests are taken").retry_after(1)
}
