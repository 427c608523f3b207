//! `bundle.toml`: what the directory is, and that nobody loosened it.

use std::fmt::Display;

use serde::Deserialize;
use toml::Spanned;

use super::files::{Files, MANIFEST};
use crate::diagnostics::{Check, Diagnostic};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: Spanned<i64>,
    cedar: Spanned<String>,
    level: Spanned<i64>,
    deny_warnings: Spanned<bool>,
}

pub(super) fn check(files: &Files) -> Result<(), Vec<Diagnostic>> {
    let text = files.required(MANIFEST, Check::Manifest)?;
    let fault = |what: String| Diagnostic::new(Check::Manifest, what).file(MANIFEST);
    let manifest: Manifest = toml::from_str(text).map_err(|error| {
        let fault = fault(error.message().to_owned());
        match error.span() {
            Some(span) => vec![fault.offset(text, span.start)],
            None => vec![fault],
        }
    })?;
    let expect = |key: &str, got: &dyn Display, at: usize, want: &dyn Display| {
        if got.to_string() == want.to_string() {
            return Ok(());
        }
        let what = format!("`{key}` is {got}, and only {want} is accepted");
        Err(vec![fault(what).offset(text, at)])
    };
    let Manifest {
        format,
        cedar,
        level,
        deny_warnings,
    } = manifest;
    let built_in = cedar_policy::get_sdk_version();
    expect("format", format.get_ref(), format.span().start, &1)?;
    expect("cedar", cedar.get_ref(), cedar.span().start, &built_in)?;
    expect("level", level.get_ref(), level.span().start, &1)?;
    let at = deny_warnings.span().start;
    expect("deny_warnings", deny_warnings.get_ref(), at, &true)
}
