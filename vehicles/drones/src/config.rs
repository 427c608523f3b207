//! The configuration: read once, every fault reported at once, secrets never shown.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use interlock_guard::{KeyError, KeySet};
use thiserror::Error;
use toml::{Table, Value};

use crate::crash::{CRASH_VARIABLE, CrashAt};
use crate::limits::Limits;

#[cfg(test)]
mod tests;

/// The environment variable with the keys; it wins over the file.
pub const KEYS_VARIABLE: &str = "INTERLOCK_KEY_DRONES";

/// Everything the service must be told.
#[derive(Debug)]
pub struct Config {
    /// Where to listen for the gateway.
    pub listen: SocketAddr,
    /// The id of the swarm, in the registry and on the link.
    pub swarm: String,
    /// The scope the swarm lies in.
    pub account: String,
    /// `host:port` of the swarm.
    pub link: String,
    /// The durable file.
    pub database: PathBuf,
    /// The gateway's operations listener, `host:port`; none: no feed.
    pub gateway_ops: Option<String>,
    /// The keys shared with the gateway.
    pub keys: KeySet,
    /// They come from the environment, which never changes in a running process.
    pub keys_are_fixed: bool,
    /// Bounds of every mission.
    pub limits: Limits,
    /// Where a test wants this process to end.
    pub crash_at: CrashAt,
}

/// Everything wrong with a configuration.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

impl Config {
    /// Reads the text of the file; `environment` gives the value of a variable, and `file` the
    /// text of another file.
    ///
    /// # Errors
    /// Every fault found, each naming its field.
    pub fn read(
        text: &str,
        environment: impl Fn(&str) -> Option<String>,
        file: impl Fn(&Path) -> io::Result<String>,
    ) -> Result<Self, ConfigError> {
        let table = text.parse::<Table>().map_err(|error| {
            // The parser's own display quotes the faulty line, which may hold a key.
            let place = error.span().map_or_else(String::new, |span| {
                let before = text.get(..span.start).unwrap_or_default();
                format!(" in line {}", before.lines().count().max(1))
            });
            ConfigError(vec![format!("not TOML{place}: {}", error.message())])
        })?;
        let mut fields = Fields {
            table,
            faults: Vec::new(),
        };
        let listen = fields.required("listen", |text| {
            text.parse()
                .map_err(|_| "must be `address:port`".to_owned())
        });
        let swarm = fields.required("swarm", identifier);
        let account = fields.required("account", identifier);
        let link = fields.required("link", host_and_port);
        let database = fields.required("database", |text| match text {
            "" => Err("must be the path of a file".to_owned()),
            path => Ok(PathBuf::from(path)),
        });
        let gateway_ops = fields.text("gateway_ops").and_then(|text| {
            let read = match text.strip_prefix("http://") {
                Some(rest) => host_and_port(rest.trim_end_matches('/')),
                None => Err("must be `http://host:port`".to_owned()),
            };
            fields.keep("gateway_ops", read)
        });
        let from_environment = environment(KEYS_VARIABLE);
        let keys_are_fixed = from_environment.is_some();
        let keys = fields.keys(from_environment, file);
        let limits = fields.limits();
        let crash_at = CrashAt::parse(environment(CRASH_VARIABLE).as_deref());
        let crash_at = crash_at.map_err(|error| fields.faults.push(error.to_string()));
        fields.refuse_rest();
        let Fields { faults, .. } = fields;
        match (listen, swarm, account, link, database, keys, crash_at) {
            (
                Some(listen),
                Some(swarm),
                Some(account),
                Some(link),
                Some(database),
                Some(keys),
                Ok(crash_at),
            ) if faults.is_empty() => Ok(Self {
                listen,
                swarm,
                account,
                link,
                database,
                gateway_ops,
                keys,
                keys_are_fixed,
                limits,
                crash_at,
            }),
            _ => Err(ConfigError(faults)),
        }
    }
}

struct Fields {
    table: Table,
    faults: Vec<String>,
}

impl Fields {
    fn text(&mut self, name: &str) -> Option<String> {
        match self.table.remove(name)? {
            Value::String(text) => Some(text),
            other => {
                let kind = other.type_str();
                self.faults.push(format!(
                    "`{name}` must be a string, not a value of type {kind}"
                ));
                None
            }
        }
    }

    fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if !self.table.contains_key(name) {
            self.faults.push(format!("`{name}` is required"));
            return None;
        }
        let text = self.text(name)?;
        self.keep(name, read(&text))
    }

    fn keep<T>(&mut self, name: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|fault| self.faults.push(format!("`{name}` {fault}")))
            .ok()
    }

    /// SECURITY: no fault below shows a secret.
    fn keys(
        &mut self,
        environment: Option<String>,
        file: impl Fn(&Path) -> io::Result<String>,
    ) -> Option<KeySet> {
        let listed = self.table.remove("keys");
        let path = self.text("key_file");
        let (source, read) = match (environment, listed, path) {
            (Some(text), _, _) => (KEYS_VARIABLE, KeySet::parse(&text)),
            (None, Some(_), Some(_)) => {
                self.faults
                    .push("`keys` and `key_file` are two places; give one".to_owned());
                return None;
            }
            (None, None, Some(path)) => match file(Path::new(&path)) {
                Ok(text) => ("key_file", KeySet::parse(&text.replace('\n', ","))),
                Err(error) => {
                    self.faults
                        .push(format!("`key_file` cannot be read: {error}"));
                    return None;
                }
            },
            (None, Some(Value::Array(items)), None) => {
                let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                let joined = texts.map(|texts| texts.join(","));
                let read = joined.map_or(Err(KeyError::Form), |joined| KeySet::parse(&joined));
                ("keys", read)
            }
            (None, Some(_), None) => {
                self.faults
                    .push("`keys` must be an array of `kid:base64url`".to_owned());
                return None;
            }
            (None, None, None) => {
                self.faults.push(format!(
                    "`key_file` or `keys` is required, or in the environment {KEYS_VARIABLE}"
                ));
                return None;
            }
        };
        self.keep(
            source,
            read.map_err(|error| format!("is no key set: {error}")),
        )
    }

    fn limits(&mut self) -> Limits {
        let Some(given) = self.table.remove("limits") else {
            return Limits::default();
        };
        match given.try_into::<Limits>() {
            Ok(limits) => {
                if let Err(faults) = limits.check() {
                    let named = faults.0.into_iter().map(|fault| format!("limits: {fault}"));
                    self.faults.extend(named);
                }
                limits
            }
            Err(error) => {
                self.faults.push(format!("limits: {}", error.message()));
                Limits::default()
            }
        }
    }

    fn refuse_rest(&mut self) {
        let unknown = self
            .table
            .keys()
            .map(|name| format!("`{name}` is not a field"));
        self.faults.extend(unknown);
    }
}

/// What the registry takes as an id.
fn identifier(text: &str) -> Result<String, String> {
    if interlock_surface::ids::is_id(text) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 64 of `A-Z a-z 0-9 . _ : -`, first a letter or digit".to_owned())
    }
}

fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(text.to_owned())
        }
        _ => Err("must be `host:port`".to_owned()),
    }
}
