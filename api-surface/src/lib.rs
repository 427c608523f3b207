//! The surface of Interlock: every endpoint and command kind with its class.
//!
//! The tables in `surface/` are the norm. The build script checks them against
//! its laws and turns them into the constants of this crate; routing, Cedar
//! actions, OpenAPI and docs all come from these. What is not in the table
//! does not exist.

#[macro_use]
mod terms;

mod class;
mod failures;
pub mod ids;
mod matching;
mod params;
mod relation;
pub mod render;
mod row;
mod tables;
mod text;

pub use crate::class::Class;
pub use crate::failures::{
    Answer, Case, Cell, CodeFate, Condition, Expectation, KeyFate, Line, Told, cells, line,
};
pub use crate::ids::{ObjectId, ScopeId};
pub use crate::matching::{Candidates, Listener, Match, UnknownKind, find};
pub use crate::params::{Params, ParamsError};
pub use crate::relation::Relation;
pub use crate::row::{ResourceFrom, Row, Segment, Timeout};
pub use crate::tables::{CELLS, ROWS, SERVICES, TIMEOUTS};
pub use crate::terms::{BodyRule, Idempotency, Method, ParamKind, ResourceType, ServedBy};

pub(crate) use crate::tables::ROUTES;

/// The row of this name.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}
