//! The rows of the hierarchy and their handlers.

use crate::service::router::Route;

/// Which handler serves which row.
pub const ROUTES: &[Route] = &[];
