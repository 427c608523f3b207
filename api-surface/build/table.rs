//! A service's table as it is written: words understood, laws not yet judged.

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::reader::{Located, Reader};
use crate::compile::relation::Relation;
use crate::compile::source::Source;
use crate::compile::template::Template;
use crate::compile::terms::{BodyRule, Idempotency, Method, ResourceType, ServedBy};
use crate::compile::words::{Words, vocabulary};

terms! {
    /// What a body field is to the request.
    FieldRole {
        /// Decides what happens: part of fingerprint and plan digest.
        Acting = "acting",
        /// Describes, and moves nothing: a name, a comment.
        Annotation = "annotation",
    }
}

/// A row as written. Names are those of the crate's `Row`.
#[derive(Clone, Debug)]
pub struct Draft {
    pub source: Source,
    /// Line of the `[[row]]` header.
    pub line: usize,
    pub service: String,
    pub name: Located<String>,
    pub call: Call,
    pub right: Right,
    pub content: Content,
    pub idempotency: Option<Located<Idempotency>>,
    pub timeout: Located<String>,
    pub mcp_tool: Option<Located<String>>,
    pub preview: Option<Located<String>>,
    pub becomes: Option<Located<String>>,
    pub served_by: Located<ServedBy>,
    pub stream: bool,
    pub success: Located<u16>,
    pub summary: Located<String>,
}

/// What is called.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub path: Located<String>,
    pub template: Template,
    pub kind: Option<Located<String>>,
    pub kind_field: Option<Located<String>>,
}

/// What the caller must be allowed.
#[derive(Clone, Debug)]
pub struct Right {
    pub class: Class,
    pub relation: Located<Relation>,
    pub calming: Located<bool>,
    pub public: Located<bool>,
    pub action: Option<Located<String>>,
    pub resource: ResourceType,
    pub resource_from: Located<From>,
    pub judges_members: Located<bool>,
}

/// Where the id of the resource comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// The service's one object.
    Service,
    /// The caller's account.
    Account,
    /// This path parameter.
    Path(String),
}

/// What the call carries and brings back.
#[derive(Clone, Debug)]
pub struct Content {
    pub body: Located<BodyRule>,
    pub body_limit: u32,
    pub fields: Vec<(Located<String>, FieldRole)>,
    pub query: Vec<Located<String>>,
    pub request_schema: Option<Located<String>>,
    pub response_schema: Option<Located<String>>,
}

impl Draft {
    /// A fault of this row.
    pub fn fault(&self, line: usize, law: Law, text: impl Into<String>) -> Fault {
        self.source.fault(line, law, text)
    }
}

impl Call {
    /// The body field that names the kind: `kind` where the row does not say.
    pub fn kind_field(&self) -> Option<Located<&str>> {
        let kind = self.kind.as_ref()?;
        let field = self.kind_field.as_ref();
        Some(Located {
            value: field.map_or("kind", |field| field.value.as_str()),
            line: field.unwrap_or(kind).line,
        })
    }

    /// The body field that holds the command, where the kind is nested.
    pub fn command_field(&self) -> Option<&str> {
        let (parent, _) = self.kind_field()?.value.split_once('.')?;
        Some(parent)
    }
}

impl Content {
    /// Names of the body fields that have a role.
    pub fn fields_of(&self, role: FieldRole) -> Vec<&str> {
        let fields = self.fields.iter().filter(|(_, given)| *given == role);
        fields.map(|(name, _)| name.value.as_str()).collect()
    }
}

/// Reads a service's table.
pub fn read(source: &Source, faults: &mut Vec<Fault>) -> Vec<Draft> {
    let mut file = match Reader::parse(source) {
        Ok(file) => file,
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    let service = file.need("service", faults);
    let rows = file.tables("row", faults);
    file.finish(faults);
    let Some(service) = service else {
        return Vec::new();
    };
    rows.into_iter()
        .filter_map(|row| draft(source, &service.value, row, faults))
        .collect()
}

/// Reads one row; `None` when a needed value is not there, which is a fault.
/// Every key is looked at before that, so that all faults are found at once.
fn draft(
    source: &Source,
    service: &str,
    mut row: Reader<'_>,
    faults: &mut Vec<Fault>,
) -> Option<Draft> {
    let mut words = Words { source, faults };
    let name = row.need("name", words.faults);
    let call = call(&mut words, &mut row);
    let right = right(&mut words, &mut row);
    let content = content(&mut words, &mut row);
    let idempotency = words.may(
        &mut row,
        &vocabulary!(Idempotency, "idempotency", UnknownTerm),
    );
    let timeout = row.need("timeout", words.faults);
    let mcp_tool = row.text("mcp_tool", words.faults);
    let preview = row.text("preview", words.faults);
    let becomes = row.text("becomes", words.faults);
    let served_by = words.need(&mut row, &vocabulary!(ServedBy, "served_by", UnknownTerm));
    let stream = row.flag("stream", words.faults).value;
    let success = row.need_number("success", words.faults);
    let summary = row.need("summary", words.faults);
    let line = row.line;
    row.finish(faults);
    Some(Draft {
        source: source.clone(),
        line,
        service: service.to_owned(),
        name: name?,
        call: call?,
        right: right?,
        content,
        idempotency,
        timeout: timeout?,
        mcp_tool,
        preview,
        becomes,
        served_by: served_by?,
        stream,
        success: success?,
        summary: summary?,
    })
}

fn call(words: &mut Words<'_>, row: &mut Reader<'_>) -> Option<Call> {
    let method = words.need(row, &vocabulary!(Method, "method", UnknownTerm));
    let path = row.need("path", words.faults);
    let text_params = row.texts("text_params", words.faults);
    let kind = row.text("kind", words.faults);
    let kind_field = row.text("kind_field", words.faults);
    let path = path?;
    match Template::parse(&path.value, &text_params) {
        Ok(template) => Some(Call {
            method: method?.value,
            path,
            template,
            kind,
            kind_field,
        }),
        Err((at, law, text)) => {
            words
                .faults
                .push(words.source.fault(at.unwrap_or(path.line), law, text));
            None
        }
    }
}

fn right(words: &mut Words<'_>, row: &mut Reader<'_>) -> Option<Right> {
    let class = words.need(row, &vocabulary!(Class, "class", UnknownClass));
    let relation = words.need(row, &vocabulary!(Relation, "relation", UnknownRelation));
    let calming = row.flag("calming", words.faults);
    let public = row.flag("public", words.faults);
    let action = row.text("action", words.faults);
    let resource = words.need(row, &vocabulary!(ResourceType, "resource", UnknownTerm));
    let resource_from = resource_from(words, row);
    let judges_members = row.flag("judges_members", words.faults);
    Some(Right {
        class: class?.value,
        relation: relation?,
        calming,
        public,
        action,
        resource: resource?.value,
        resource_from: resource_from?,
        judges_members,
    })
}

fn resource_from(words: &mut Words<'_>, row: &mut Reader<'_>) -> Option<Located<From>> {
    let Located { value, line } = row.need("resource_from", words.faults)?;
    let value = match (value.as_str(), value.strip_prefix("path:")) {
        ("service", _) => From::Service,
        ("account", _) => From::Account,
        (_, Some(param)) => From::Path(param.to_owned()),
        (_, None) => {
            let text = format!(
                "`{value}` is no resource_from; write `service`, `account` or `path:parameter`"
            );
            words
                .faults
                .push(words.source.fault(line, Law::UnknownTerm, text));
            return None;
        }
    };
    Some(Located { value, line })
}

fn content(words: &mut Words<'_>, row: &mut Reader<'_>) -> Content {
    let body = words.may(row, &vocabulary!(BodyRule, "body", UnknownTerm));
    let body_limit = row.number("body_limit", words.faults);
    let mut fields = Vec::new();
    for (name, role) in row.pairs("fields", words.faults) {
        let role = words.word(
            &role,
            &vocabulary!(FieldRole, "field role", UndeclaredField),
        );
        fields.extend(role.map(|role| (name, role.value)));
    }
    Content {
        body: body.unwrap_or(Located {
            value: BodyRule::None,
            line: row.line,
        }),
        body_limit: body_limit.map_or(0, |limit| limit.value),
        fields,
        query: row.texts("query", words.faults),
        request_schema: row.text("request_schema", words.faults),
        response_schema: row.text("response_schema", words.faults),
    }
}
