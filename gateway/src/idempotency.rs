//! Keys, fingerprints and stored answers.
