//! Verifies the gateway's grant for a service that stands behind it.
//!
//! The gateway decides; the service behind it trusts one signed statement, the grant, and
//! nothing else. [`require_grant`] checks it before a handler runs, and [`Granted`] is the proof
//! that it did: a handler that asks for one cannot be reached without it.
//!
//! Around it stands what every such service does alike: [`server`] listens, [`json`] reads bodies
//! strictly, [`process`] logs, heeds signals and ends, [`ops`] tells operators how it
//! goes.
//!
//! The format, and what a service in any other language must check, is in `docs/GRANTS.md`;
//! `docs/grant-vectors.json` holds fixed examples, good and bad, that this crate's tests read.

mod claims;
mod clock;
mod digest;
pub mod evaluations;
mod feed;
mod guard;
mod internal;
pub mod json;
mod keys;
mod layer;
pub mod ops;
mod problem;
pub mod process;
mod refusal;
mod replay;
pub mod server;
mod token;

pub use crate::claims::{Approval, Caller, CallerKind, Claims, Party, Proposer, Standing};
pub use crate::clock::{Clock, SystemClock};
pub use crate::digest::body_digest;
pub use crate::feed::{FEED_HEADER, FeedClaims, FeedError, sign_feed, verify_feed};
pub use crate::guard::{GRANT_HEADER, Guard};
pub use crate::internal::sign_internal;
pub use crate::keys::{Key, KeyError, KeySet, Keys};
pub use crate::layer::{Granted, require_grant};
pub use crate::problem::PROBLEM_JSON;
pub use crate::refusal::Refusal;
