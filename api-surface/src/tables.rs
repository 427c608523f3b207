//! The constants that the build script made of `surface/`.

use crate::class::Class;
use crate::failures::{Answer, Case, Cell, CodeFate, Condition, Expectation, KeyFate, Line, Told};
use crate::matching::{Candidates, Listener, Route, Routes};
use crate::relation::Relation;
use crate::row::{ResourceFrom, Row, Segment, Timeout};
use crate::terms::{BodyRule, Idempotency, Method, ParamKind, ResourceType, ServedBy};

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
