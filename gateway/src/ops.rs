//! The second listener: health, readiness, metrics, registry feed.
