//! The policy decision point.
//!
//! Policy is files: a [`Bundle`] is loaded from a directory of Cedar policies,
//! a schema, role grants and cases, and refused with [`Diagnostics`] unless
//! every check passes. Deciding is pure: typed facts in, a [`Decision`] out, in
//! memory, with no clock, no network and no state.
//!
//! ```text
//! PrincipalFacts -> Principal ─┐
//! Row ─────────────────────────┤
//! ResourceFacts ───────────────┼─> Bundle::decide -> Allow | Deny | Broken
//! ContextFacts ────────────────┘
//! ```

mod bounds;
mod bundle;
mod decision;
mod diagnostics;
mod facts;
mod grants;
mod identity;
mod index;
mod problem;
mod reload;
mod roles;
mod slice;

pub use bounds::Bound;
pub use bundle::{Bundle, TENANT_GUARD};
pub use cedar_policy::PolicyId;
pub use decision::{Decision, Fault};
pub use diagnostics::{Check, Diagnostic, Diagnostics};
pub use facts::{
    ContextFacts, FactsError, INSTALLATION, Mode, Principal, PrincipalFacts, PrincipalKind,
    Proposer, ResourceFacts, VehicleState,
};
pub use grants::{Directory, Entry, PersonId};
pub use problem::Problem;
pub use reload::{Reload, Reloader};
pub use roles::{Role, Roles};
