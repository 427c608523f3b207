//! A service's table as it is written: words understood, laws not yet judged.

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::reader::{Located, Reader};
use crate::compile::relation::Relation;
use crate::compile::source::Source;
use crate::compile::template::Template;
use crate::compile::terms::{BodyRule, Idempotency, Method, ResourceType, ServedBy};

terms! {
    /// What a body field is to the request.
    FieldRole {
        /// Decides what happens: part of fingerprint and plan digest.
        Acting = "acting",
        /// Describes, and moves nothing: a name, a comment.
        Annotation = "annotation",
    }
}

/// A row as written. Fields as in the crate's `Row`.
#[derive(Clone, Debug)]
pub struct Draft {
    pub source: Source,
    pub line: usize,
    pub service: String,
    pub name: Located<String>,
    pub method: Located<Method>,
    pub path: Located<String>,
    pub template: Template,
    pub kind: Option<Located<String>>,
    pub class: Located<Class>,
    pub relation: Located<Relation>,
    pub calming: Located<bool>,
    pub public: Located<bool>,
    pub action: Option<Located<String>>,
    pub resource: Located<ResourceType>,
    pub resource_from: Located<Option<String>>,
    pub idempotency: Option<Located<Idempotency>>,
    pub timeout: Located<String>,
    pub body: Located<BodyRule>,
    pub body_limit: Option<Located<u32>>,
    pub fields: Vec<(Located<String>, FieldRole)>,
    pub query: Vec<Located<String>>,
    pub mcp_tool: Option<Located<String>>,
    pub preview: Option<Located<String>>,
    pub becomes: Option<Located<String>>,
    pub served_by: Located<ServedBy>,
    pub stream: bool,
    pub success: Located<u16>,
    pub summary: Located<String>,
    pub request_schema: Option<Located<String>>,
    pub response_schema: Option<Located<String>>,
}

impl Draft {
    /// A fault of this row.
    pub fn fault(&self, line: usize, law: Law, text: impl Into<String>) -> Fault {
        self.source.fault(line, law, text)
    }

    /// Names of the body fields that have a role.
    pub fn fields_of(&self, role: FieldRole) -> Vec<&str> {
        self.fields
            .iter()
            .filter(|(_, given)| *given == role)
            .map(|(name, _)| name.value.as_str())
            .collect()
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
fn draft(
    source: &Source,
    service: &str,
    mut row: Reader<'_>,
    faults: &mut Vec<Fault>,
) -> Option<Draft> {
    let mut words = Words { source, faults };
    let name = row.need("name", words.faults);
    let method = words.need(
        &mut row,
        "method",
        Law::UnknownTerm,
        Method::parse,
        Method::ALL,
    );
    let path = row.need("path", words.faults);
    let text_params = row.texts("text_params", words.faults);
    let kind = row.text("kind", words.faults);
    let class = words.need(
        &mut row,
        "class",
        Law::UnknownClass,
        Class::parse,
        Class::ALL,
    );
    let relation = words.need(
        &mut row,
        "relation",
        Law::UnknownRelation,
        Relation::parse,
        Relation::ALL,
    );
    let calming = row.flag("calming", words.faults);
    let public = row.flag("public", words.faults);
    let action = row.text("action", words.faults);
    let resource = words.need(
        &mut row,
        "resource",
        Law::UnknownTerm,
        ResourceType::parse,
        ResourceType::ALL,
    );
    let resource_from = words.resource_from(&mut row);
    let idempotency = words.may(
        &mut row,
        "idempotency",
        Law::UnknownTerm,
        Idempotency::parse,
        Idempotency::ALL,
    );
    let timeout = row.need("timeout", words.faults);
    let body = words
        .may(
            &mut row,
            "body",
            Law::UnknownTerm,
            BodyRule::parse,
            BodyRule::ALL,
        )
        .unwrap_or(Located {
            value: BodyRule::None,
            line: row.line,
        });
    let body_limit = row.number("body_limit", words.faults);
    let fields = words.fields(&mut row);
    let query = row.texts("query", words.faults);
    let mcp_tool = row.text("mcp_tool", words.faults);
    let preview = row.text("preview", words.faults);
    let becomes = row.text("becomes", words.faults);
    let served_by = words.need(
        &mut row,
        "served_by",
        Law::UnknownTerm,
        ServedBy::parse,
        ServedBy::ALL,
    );
    let stream = row.flag("stream", words.faults).value;
    let success = row.need_number("success", words.faults);
    let summary = row.need("summary", words.faults);
    let request_schema = row.text("request_schema", words.faults);
    let response_schema = row.text("response_schema", words.faults);
    let line = row.line;
    row.finish(faults);

    let path = path?;
    let template = match Template::parse(&path.value, &text_params) {
        Ok(template) => Some(template),
        Err((at, law, text)) => {
            faults.push(source.fault(at.unwrap_or(path.line), law, text));
            None
        }
    };
    Some(Draft {
        source: source.clone(),
        line,
        service: service.to_owned(),
        name: name?,
        method: method?,
        path,
        template: template?,
        kind,
        class: class?,
        relation: relation?,
        calming,
        public,
        action,
        resource: resource?,
        resource_from: resource_from?,
        idempotency,
        timeout: timeout?,
        body,
        body_limit,
        fields,
        query,
        mcp_tool,
        preview,
        becomes,
        served_by: served_by?,
        stream,
        success: success?,
        summary: summary?,
        request_schema,
        response_schema,
    })
}

/// Understands words of closed vocabularies.
pub struct Words<'a> {
    pub source: &'a Source,
    pub faults: &'a mut Vec<Fault>,
}

impl Words<'_> {
    /// A word that may be absent.
    pub fn may<T: std::fmt::Display>(
        &mut self,
        row: &mut Reader<'_>,
        key: &str,
        law: Law,
        parse: fn(&str) -> Option<T>,
        all: &[T],
    ) -> Option<Located<T>> {
        let word = row.text(key, self.faults)?;
        self.word(&word, key, law, parse, all)
    }

    /// A word that must be there.
    pub fn need<T: std::fmt::Display>(
        &mut self,
        row: &mut Reader<'_>,
        key: &str,
        law: Law,
        parse: fn(&str) -> Option<T>,
        all: &[T],
    ) -> Option<Located<T>> {
        let word = row.need(key, self.faults)?;
        self.word(&word, key, law, parse, all)
    }

    /// One word, or a fault that lists the vocabulary.
    pub fn word<T: std::fmt::Display>(
        &mut self,
        word: &Located<String>,
        key: &str,
        law: Law,
        parse: fn(&str) -> Option<T>,
        all: &[T],
    ) -> Option<Located<T>> {
        if let Some(value) = parse(&word.value) {
            return Some(Located {
                value,
                line: word.line,
            });
        }
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        let text = format!(
            "`{}` is no {key}; write one of {}",
            word.value,
            all.join(", ")
        );
        self.faults.push(self.source.fault(word.line, law, text));
        None
    }

    fn resource_from(&mut self, row: &mut Reader<'_>) -> Option<Located<Option<String>>> {
        let from = row.need("resource_from", self.faults)?;
        if from.value == "service" {
            return Some(Located {
                value: None,
                line: from.line,
            });
        }
        if let Some(param) = from.value.strip_prefix("path:") {
            return Some(Located {
                value: Some(param.to_owned()),
                line: from.line,
            });
        }
        let text = format!(
            "`{}` is no resource_from; write `service` or `path:parameter`",
            from.value
        );
        self.faults
            .push(self.source.fault(from.line, Law::UnknownTerm, text));
        None
    }

    fn fields(&mut self, row: &mut Reader<'_>) -> Vec<(Located<String>, FieldRole)> {
        let mut fields = Vec::new();
        for (name, role) in row.pairs("fields", self.faults) {
            let role = self.word(
                &role,
                "field role",
                Law::UndeclaredField,
                FieldRole::parse,
                FieldRole::ALL,
            );
            if let Some(role) = role {
                fields.push((name, role.value));
            }
        }
        fields
    }
}
