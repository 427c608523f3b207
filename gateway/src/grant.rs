//! Mints what vehicle services trust.
