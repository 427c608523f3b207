//! The whole service in one process, for tests: real records, the real local
//! bus with a cut in it, and a gateway that judges as the test says.

mod bus;
mod gateway;
mod holder;
mod records;
mod rig;

pub(crate) use bus::{Cut, CutBus};
pub(crate) use holder::Holder;
pub(crate) use records::{noon, record};
pub(crate) use rig::{ACCOUNT, Asking, GROUP, Reply, Rig, SITE, mower};
