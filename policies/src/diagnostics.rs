//! Why a bundle was refused, for the person who edits it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// The check that refused a bundle. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// A file or directory cannot be read, is not UTF-8, is too large, or does
    /// not belong in a bundle.
    Files,
    /// `bundle.toml`.
    Manifest,
    /// A schema file does not parse, or the schema does not hold together.
    Schema,
    /// The schema's actions are not those of the surface rows, or its entity
    /// types are not those the facts have.
    Surface,
    /// Nested so deep, or a statement so long, that reading it is not safe.
    Nesting,
    /// A policy file does not parse.
    Syntax,
    /// A policy template; grants are data on the principal.
    Template,
    /// A policy has no `@id`, or one that is no id.
    PolicyId,
    /// Two policies have one `@id`.
    DuplicateId,
    /// A permit outside `permits/`, a forbid outside `guards/` and `tenants/`,
    /// or a tenant's policy that reaches outside the tenant.
    Placement,
    /// No policy at all.
    Empty,
    /// A policy names an action the schema does not declare.
    UnknownAction,
    /// A policy names an entity type, or a member of an enumerated type, that
    /// the schema does not declare.
    UnknownType,
    /// A policy reads an attribute that does not exist.
    UnknownAttribute,
    /// A policy reads an optional attribute without asking `has` first.
    OptionalAttribute,
    /// A policy does not type-check.
    Type,
    /// A policy looks further than one entity away.
    Level,
    /// A warning, such as a policy that can never apply.
    Warning,
    /// The pinned tenant guard is missing or changed.
    TenantGuard,
    /// A forbid covers stops.
    ForbidCoversStop,
    /// A forbid covers a calming command.
    ForbidCoversCalming,
    /// A `@problem` that is none, or that stands on a permit.
    Problem,
    /// No permit covers stops.
    StopNotPermitted,
    /// A permit covers `observe` without covering every stop with it.
    ObservePermit,
    /// `grants.json`.
    Grants,
    /// A grant would reach an object that lies in no scope.
    Unplaced,
    /// A case file cannot be read, or there is none.
    CaseFormat,
    /// A case came out otherwise than it says.
    CaseFailed,
}

impl Check {
    /// Every check.
    pub const ALL: [Self; 28] = [
        Self::Files,
        Self::Manifest,
        Self::Schema,
        Self::Surface,
        Self::Nesting,
        Self::Syntax,
        Self::Template,
        Self::PolicyId,
        Self::DuplicateId,
        Self::Placement,
        Self::Empty,
        Self::UnknownAction,
        Self::UnknownType,
        Self::UnknownAttribute,
        Self::OptionalAttribute,
        Self::Type,
        Self::Level,
        Self::Warning,
        Self::TenantGuard,
        Self::ForbidCoversStop,
        Self::ForbidCoversCalming,
        Self::Problem,
        Self::StopNotPermitted,
        Self::ObservePermit,
        Self::Grants,
        Self::Unplaced,
        Self::CaseFormat,
        Self::CaseFailed,
    ];

    /// The name of the check.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Manifest => "manifest",
            Self::Schema => "schema",
            Self::Surface => "surface",
            Self::Nesting => "nesting",
            Self::Syntax => "syntax",
            Self::Template => "template",
            Self::PolicyId => "policy-id",
            Self::DuplicateId => "duplicate-id",
            Self::Placement => "placement",
            Self::Empty => "empty",
            Self::UnknownAction => "unknown-action",
            Self::UnknownType => "unknown-type",
            Self::UnknownAttribute => "unknown-attribute",
            Self::OptionalAttribute => "optional-attribute",
            Self::Type => "type",
            Self::Level => "level",
            Self::Warning => "warning",
            Self::TenantGuard => "tenant-guard",
            Self::ForbidCoversStop => "forbid-covers-stop",
            Self::ForbidCoversCalming => "forbid-covers-calming",
            Self::Problem => "problem",
            Self::StopNotPermitted => "stop-not-permitted",
            Self::ObservePermit => "observe-permit",
            Self::Grants => "grants",
            Self::Unplaced => "unplaced",
            Self::CaseFormat => "case-format",
            Self::CaseFailed => "case-failed",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One fault of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The check that found it.
    pub check: Check,
    /// The file, relative to the bundle.
    pub file: Option<String>,
    /// Its line, from 1.
    pub line: Option<usize>,
    /// Its column in characters, from 1.
    pub column: Option<usize>,
    /// The policy, by its `@id`.
    pub policy: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line of the file that it is about.
    pub source: Option<String>,
    /// How often the same fault was found at the same place: once for every
    /// action that the policy covers.
    pub count: usize,
}

impl Diagnostic {
    pub(crate) fn new(check: Check, message: impl fmt::Display) -> Self {
        Self {
            check,
            file: None,
            line: None,
            column: None,
            policy: None,
            message: message.to_string(),
            help: None,
            source: None,
            count: 1,
        }
    }

    pub(crate) fn file(mut self, file: &str) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    pub(crate) fn policy(mut self, policy: &str) -> Self {
        self.policy = Some(policy.to_owned());
        self
    }

    pub(crate) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Sets line, column and source line from a byte offset into the text.
    pub(crate) fn offset(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.line = Some(before.matches('\n').count() + 1);
        self.column = Some(before.get(start..).unwrap_or("").chars().count() + 1);
        self.source = excerpt(text, start);
        self
    }

    /// Sets the place from a line and a column, as a JSON parser gives them.
    pub(crate) fn position(mut self, text: &str, line: usize, column: usize) -> Self {
        self.line = Some(line);
        self.column = Some(column.max(1));
        self.source = text.lines().nth(line.saturating_sub(1)).map(str::to_owned);
        self
    }

    /// Sets the place to the last occurrence of `needle`, if there is one.
    pub(crate) fn at_last(self, text: &str, needle: &str) -> Self {
        match text.rfind(needle) {
            Some(offset) => self.offset(text, offset),
            None => self,
        }
    }

    /// Sets the place to the first occurrence of `needle`, if there is one.
    pub(crate) fn at(self, text: &str, needle: &str) -> Self {
        match text.find(needle) {
            Some(offset) => self.offset(text, offset),
            None => self,
        }
    }

    /// A diagnostic of Cedar, with its own labels and help.
    pub(crate) fn cedar(check: Check, text: &str, error: &dyn miette::Diagnostic) -> Self {
        let mut diagnostic = Self::new(check, plain(&error.to_string()));
        let labels = error.labels().into_iter().flatten();
        if let Some(offset) = labels.map(|label| label.offset()).next() {
            diagnostic = diagnostic.offset(text, offset);
        }
        if let Some(help) = error.help() {
            diagnostic = diagnostic.help(plain(&help.to_string()));
        }
        diagnostic
    }
}

/// An error with its causes, which Cedar leaves out of the message.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = plain(&error.to_string());
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&plain(&inner.to_string()));
        cause = inner.source();
    }
    text
}

/// The line that a byte offset lies in, cut to what a terminal shows.
fn excerpt(text: &str, start: usize) -> Option<String> {
    let line = text.get(start..)?.lines().next()?;
    Some(line.chars().take(160).collect())
}

/// Cedar's wording without the names of its insides.
fn plain(message: &str) -> String {
    message.replace("__cedar::internal::", "")
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        write!(f, "{}: {}", self.check, self.message)?;
        if self.count > 1 {
            let what = self.policy.as_ref().map_or("times", |_| "actions");
            write!(f, " ({} {what})", self.count)?;
        }
        if let Some(source) = &self.source {
            write!(f, "\n    {source}")?;
            if let Some(column) = self.column.filter(|column| *column <= 160) {
                write!(f, "\n    {:>column$}", "^")?;
            }
        }
        if let Some(help) = &self.help {
            write!(f, "\n    help: {help}")?;
        }
        Ok(())
    }
}

/// Every fault found in a bundle, by file and place. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Groups the faults by file, place and check: one mistake in a policy on
    /// all actions is one fault, not one for every action.
    pub(crate) fn group(mut faults: Vec<Diagnostic>) -> Self {
        // The validator has no order; the first message stands for its group.
        faults.sort_by(|left, right| left.message.cmp(&right.message));
        let mut groups: BTreeMap<_, Diagnostic> = BTreeMap::new();
        for fault in faults {
            let place = (fault.file.clone(), fault.line, fault.column, fault.check);
            // Faults without a place are told apart by what they say.
            let tie = fault.line.is_none().then(|| fault.message.clone());
            groups
                .entry((place, tie))
                .and_modify(|first| first.count += fault.count)
                .or_insert(fault);
        }
        Self(groups.into_values().collect())
    }

    /// The faults, by file and place.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(fault: Diagnostic) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, fault) in self.0.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests;
