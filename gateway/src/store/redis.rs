//! x

use crate::store::*;

/// x
#[derive(Clone, Debug)]
pub struct RedisConfig;
