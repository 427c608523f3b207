//! What the parts of the mower service say to each other, and what its API
//! speaks: the shapes, without behavior. JSON names are snake case.

pub mod capabilities;
pub mod command;
pub mod envelope;
pub mod map;
pub mod path;
pub mod state;

pub use capabilities::{Capabilities, StopSemantics};
pub use command::{Command, CommandKind, Drive, Order, Pattern, PatternKind, Start};
pub use envelope::{CommandResult, Envelope, Issuer, IssuerKind, Priority, Status};
pub use map::{Area, Map, Point};
pub use path::{Leg, LegKind, Path, PathError, PathErrorCode, PathOver, PathReply, PathRequest};
pub use state::{Activity, Fix, InactiveReason, MowerState};
