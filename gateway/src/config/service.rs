//! `[[service]]`: a vehicle service behind the gateway, and the keys it shares
//! with it.

use std::fs;
use std::path::PathBuf;

use http::Uri;
use interlock_surface::SERVICES;

use super::Environment;
use super::section::Section;
use crate::edge::host::Authority;
use crate::grant::Keyring;

/// One vehicle service.
#[derive(Clone, Debug)]
pub struct ServiceConfig {
    /// The service of the surface table, such as `drones`.
    pub name: String,
    /// `http://host:port` of each replica, without a path; at least one, none
    /// twice.
    pub urls: Vec<Uri>,
    /// The object that rows without an object of their own are judged on.
    pub object: String,
    /// Where its keys come from, to read them again when they rotate.
    pub key_source: KeySource,
    /// The keys, as read at start: the first signs, all verify.
    pub keys: Keyring,
}

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A variable of the environment.
    Variable(String),
    /// A file.
    File(PathBuf),
}

/// Why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No such variable.
    #[error("the variable `{0}` is not set")]
    Variable(String),
    /// The file cannot be read.
    #[error("the file `{path}` cannot be read: {error}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
}

impl KeySource {
    /// Reads the secret's text, at start and again when it rotates.
    ///
    /// # Errors
    /// [`SourceError`] names the variable or the file.
    pub fn read(&self, env: &Environment) -> Result<String, SourceError> {
        match self {
            Self::Variable(name) => env
                .get(name)
                .map(|text| text.trim().to_owned())
                .ok_or_else(|| SourceError::Variable(name.clone())),
            Self::File(path) => match fs::read_to_string(path) {
                Ok(text) => Ok(text.trim().to_owned()),
                Err(error) => Err(SourceError::File {
                    path: path.display().to_string(),
                    error,
                }),
            },
        }
    }
}

pub(super) fn read(mut section: Section<'_>) -> Option<ServiceConfig> {
    let name = section.required(
        "name",
        "the service of the surface table, such as `\"drones\"`",
    );
    let name = name.filter(|name| {
        let known =
            SERVICES.contains(&name.as_str()) && !["gateway", "ops"].contains(&name.as_str());
        if !known {
            section.fault(
                "name",
                format!("`{name}` is no vehicle service of the surface"),
            );
        }
        known
    });
    let urls = urls(&mut section);
    let object = section.required(
        "object",
        "the id of the object that rows without one are judged on",
    );
    let keys =
        secret(&mut section, "key_env", "key_file").and_then(
            |(source, text)| match Keyring::parse(&text) {
                Ok(keys) => Some((source, keys)),
                Err(error) => {
                    let key = match source {
                        KeySource::Variable(_) => "key_env",
                        KeySource::File(_) => "key_file",
                    };
                    section.fault(key, error.to_string());
                    None
                }
            },
        );
    section.finish();
    let (key_source, keys) = keys?;
    Some(ServiceConfig {
        name: name?,
        urls: urls?,
        object: object?,
        key_source,
        keys,
    })
}

/// One address, or a list of them.
fn urls(section: &mut Section<'_>) -> Option<Vec<Uri>> {
    if !section.given("url") {
        section.fault(
            "url",
            "missing; write `http://host:port`, or a list with one for each replica",
        );
        return None;
    }
    let what = "`http://host:port` without a path";
    let urls = section.parsed_list("url", what, service_url)?;
    if urls.is_empty() {
        section.fault(
            "url",
            "an empty list; write at least one `http://host:port`",
        );
        return None;
    }
    let mut distinct = true;
    for (index, url) in urls.iter().enumerate() {
        // The first of them is none too many.
        if urls.iter().position(|other| other == url) != Some(index) {
            section.fault("url", format!("`{url}` is listed twice; keep one"));
            distinct = false;
        }
    }
    distinct.then_some(urls)
}

fn service_url(text: &str) -> Option<Uri> {
    let url: Uri = text.parse().ok()?;
    let plain = url.scheme_str() == Some("http")
        && url.path() == "/"
        && url.query().is_none()
        && Authority::parse(url.authority()?.as_str()).is_ok();
    plain.then_some(url)
}

/// A secret from a variable or a file, never from the configuration itself.
pub(super) fn secret(
    section: &mut Section<'_>,
    env: &str,
    file: &str,
) -> Option<(KeySource, String)> {
    let source = match (section.text(env), section.text(file)) {
        (Some(name), None) => KeySource::Variable(name),
        (None, Some(path)) => KeySource::File(path.into()),
        (None, None) => {
            section.fault(
                env,
                format!("missing; name a variable here, or a file with `{file}`"),
            );
            return None;
        }
        (Some(_), Some(_)) => {
            section.fault(env, format!("given together with `{file}`; keep one"));
            return None;
        }
    };
    match source.read(section.reading().env) {
        Ok(text) => {
            if let KeySource::Variable(name) = &source {
                section.reading().variable(name);
            }
            Some((source, text))
        }
        Err(error) => {
            let key = if matches!(source, KeySource::Variable(_)) {
                env
            } else {
                file
            };
            section.fault(key, error.to_string());
            None
        }
    }
}
