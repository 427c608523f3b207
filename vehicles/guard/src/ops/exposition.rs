//! The Prometheus text format, version 0.0.4.

use std::fmt::Write;

/// Its media type.
pub(super) const CONTENT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, and begins at zero with the process.
    Counter,
    /// Goes up and down.
    Gauge,
}

impl Kind {
    /// The word of the format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// The text, as far as it is written.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Begins a metric; its samples follow, and each name comes once.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> Family<'_> {
        let help = escaped(help, false);
        let kind = kind.as_str();
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
        Family { text: self, name }
    }

    /// A counter without labels.
    pub fn counter(&mut self, name: &'static str, help: &str, value: u64) {
        self.family(name, Kind::Counter, help).sample(&[], value);
    }

    /// A gauge without labels.
    pub fn gauge(&mut self, name: &'static str, help: &str, value: u64) {
        self.family(name, Kind::Gauge, help).sample(&[], value);
    }

    /// The whole text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

/// A metric whose samples are being written.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut Exposition,
    name: &'static str,
}

impl Family<'_> {
    /// One value; the values of labels should be of a fixed set.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: u64) {
        let name = self.name;
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value, true)))
            .collect();
        match labels.as_slice() {
            [] => self.text.line(format_args!("{name} {value}")),
            labels => {
                let labels = labels.join(",");
                self.text.line(format_args!("{name}{{{labels}}} {value}"));
            }
        }
    }
}

/// A help text, or the value of a label, which stands in quotes.
fn escaped(text: &str, quoted: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    match quoted {
        true => text.replace('"', "\\\""),
        false => text,
    }
}
