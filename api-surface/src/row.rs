//! A row of the surface, and the tables that the build script made.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::class::Class;
use crate::relation::Relation;
use crate::terms::{BodyRule, Idempotency, Method, ParamKind, ResourceType, ServedBy};

/// One endpoint, or one command kind of an endpoint.
#[derive(Debug)]
pub struct Row {
    /// Position in [`ROWS`](crate::ROWS).
    pub index: u16,
    /// Stable id, `service.noun.verb`.
    pub name: &'static str,
    /// The table the row stands in: `gateway`, `ops` or a vehicle service.
    pub service: &'static str,
    /// Request method.
    pub method: Method,
    /// Path template with parameters in braces.
    pub path: &'static str,
    /// The template, cut at its slashes.
    pub segments: &'static [Segment],
    /// Command kind, where one path carries several.
    pub kind: Option<&'static str>,
    /// The body field that names the kind, `kind` or `command.kind`; given
    /// exactly when there is a kind. The fields of the command stand beside
    /// it, those of the envelope at the top.
    pub kind_field: Option<&'static str>,
    /// What a call of this row is.
    pub class: Class,
    /// What the caller must be to the resource. Of an internal row nobody asks.
    pub relation: Relation,
    /// Calms a vehicle down (pause, dock): relation and tenant guard only.
    pub calming: bool,
    /// Member of the Cedar group `public_read`, open to `Anonymous`.
    pub public: bool,
    /// Cedar action, unique; none on internal rows.
    pub action: Option<&'static str>,
    /// Type of the Cedar resource.
    pub resource: ResourceType,
    /// Where the id of the resource comes from.
    pub resource_from: ResourceFrom,
    /// The service asks the gateway about each member that it tells of or
    /// acts on: lists, bulk commands, containers, objects named in a body.
    pub judges_members: bool,
    /// What the row does with an idempotency key.
    pub idempotency: Idempotency,
    /// The deadlines of a call.
    pub timeout: &'static Timeout,
    /// Largest body in bytes; 0 where no body is allowed.
    pub body_limit: u32,
    /// Whether a body is refused, allowed or needed.
    pub body: BodyRule,
    /// Body fields that decide what happens. One that stands beside a nested
    /// kind is written with its parent, `command.area_ids`.
    pub acting: &'static [&'static str],
    /// Body fields that only describe.
    pub annotation: &'static [&'static str],
    /// Query parameters that are accepted; any other is refused.
    pub query: &'static [&'static str],
    /// The MCP tool that makes this call.
    pub mcp_tool: Option<&'static str>,
    /// Of a plan: name of the internal row that previews it.
    pub preview: Option<&'static str>,
    /// Of a gated write: name of the write row it becomes.
    pub becomes: Option<&'static str>,
    /// Who answers.
    pub served_by: ServedBy,
    /// Bodies and event streams pass unbuffered.
    pub stream: bool,
    /// Status of success.
    pub success: u16,
    /// One line for people.
    pub summary: &'static str,
    /// Component schema of the request body.
    pub request_schema: Option<&'static str>,
    /// Component schema of the answer to success.
    pub response_schema: Option<&'static str>,
}

impl Row {
    /// The path parameters in the order of the template.
    pub fn params(&self) -> impl Iterator<Item = (&'static str, ParamKind)> {
        self.segments.iter().filter_map(|segment| match *segment {
            Segment::Literal(_) => None,
            Segment::Param(name, kind) => Some((name, kind)),
        })
    }

    /// The Cedar action groups of the row: its class, its relation, and what
    /// else it is open to.
    ///
    /// A calming row is in the group `calming` and not in that of its class, so
    /// that a guard on writes cannot hold it back. A row that looks at a whole
    /// account is in `list`, for whoever belongs to the account.
    pub fn action_groups(&self) -> Vec<&'static str> {
        let class = if self.calming {
            "calming"
        } else {
            self.class.group()
        };
        let lists = self.resource_from == ResourceFrom::Account && self.relation == Relation::View;
        let mut groups = vec![class, self.relation.as_str()];
        groups.extend(lists.then_some("list"));
        groups.extend(self.public.then_some("public_read"));
        groups
    }

    /// The body field that holds the command, where the kind is nested:
    /// `command` of `command.kind`.
    pub fn command_field(&self) -> Option<&'static str> {
        let (parent, _) = self.kind_field?.split_once('.')?;
        Some(parent)
    }
}

/// Rows are unique by name, so two are equal exactly when their place is.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl Eq for Row {}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One piece of a path template between slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// This very text.
    Literal(&'static str),
    /// Parameter of this name and kind.
    Param(&'static str, ParamKind),
}

/// Where the id of a row's resource comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceFrom {
    /// The one default object of the row's service.
    Service,
    /// The caller's account: the one that the query parameter `account` names,
    /// else the caller's only one.
    Account,
    /// The path parameter of this name.
    Path(&'static str),
}

/// As the tables write it: `service`, `account`, or `path:` and the parameter.
impl fmt::Display for ResourceFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str("service"),
            Self::Account => f.write_str("account"),
            Self::Path(param) => write!(f, "path:{param}"),
        }
    }
}

impl Serialize for ResourceFrom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Deadlines of a call in milliseconds: connect < attempt <= total < gateway.
#[derive(Debug, PartialEq, Eq)]
pub struct Timeout {
    /// Name that rows use.
    pub name: &'static str,
    /// To make a connection to the service.
    pub connect_ms: u32,
    /// For one attempt, from its first byte to the answer's head. A stop is not
    /// given up then: it is sent to another address of the service beside.
    pub attempt_ms: u32,
    /// For all attempts together; also the deadline in the grant.
    pub total_ms: u32,
    /// For the caller: the gateway has answered by then, whatever happened.
    pub gateway_ms: u32,
}
