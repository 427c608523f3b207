//! The laws by id, and the faults that break them.

use std::fmt;

terms! {
    /// A law that every table must keep, by its stable id.
    Law {
        /// The file is TOML, and each key has a value of its type.
        Malformed = "malformed",
        /// Only keys that mean something stand in a table.
        UnknownKey = "unknown-key",
        /// The class is one of the classes.
        UnknownClass = "unknown-class",
        /// The relation is one of the relations.
        UnknownRelation = "unknown-relation",
        /// Every other word is one of its vocabulary.
        UnknownTerm = "unknown-term",
        /// A path has a form that can be matched in one way only.
        PathForm = "path-form",
        /// A name is `service.noun.verb` of its own service.
        NameForm = "name-form",
        /// A body field is acting or annotation, as the schema has it.
        UndeclaredField = "undeclared-field",
        /// A named component schema exists.
        UnknownSchema = "unknown-schema",
        /// A parameter that is spoken of stands in the path.
        ParamNotInPath = "param-not-in-path",
        /// A name is given once.
        DuplicateName = "duplicate-name",
        /// Method, path shape and kind are given once.
        DuplicateKey = "duplicate-key",
        /// A Cedar action is given once.
        DuplicateAction = "duplicate-action",
        /// An MCP tool is given once.
        DuplicateTool = "duplicate-tool",
        /// No path is matched by two templates.
        AmbiguousPath = "ambiguous-path",
        /// Rows of one method and path all have a kind, and read bodies alike.
        MixedKinds = "mixed-kinds",
        /// The kind stands in one field of the body, with its command beside it.
        KindField = "kind-field",
        /// A kind and the request schema of its path know each other.
        KindSchema = "kind-schema",
        /// Whoever may see may stop.
        StopRelation = "stop-relation",
        /// A stop asks for neither a key nor a body.
        StopUnconditional = "stop-unconditional",
        /// A stop that is a kind has one without a body beside it.
        StopByKind = "stop-by-kind",
        /// No tool approves.
        ToolOnApproval = "tool-on-approval",
        /// No tool starts a vehicle without a code.
        ToolOnStart = "tool-on-start",
        /// No tool reaches an internal row.
        ToolOnInternal = "tool-on-internal",
        /// A call that changes something says what a key does.
        IdempotencyMissing = "idempotency-missing",
        /// Deadlines nest.
        TimeoutOrder = "timeout-order",
        /// A plan names the internal row that previews it.
        PlanPreview = "plan-preview",
        /// A gated write names the write it becomes.
        GatedBecomes = "gated-becomes",
        /// What a dispatch becomes takes every acting field of the plan.
        GatedFields = "gated-fields",
        /// A read is a GET, or a private question that needs a body.
        ReadMethod = "read-method",
        /// A GET has no body.
        BodyOnRead = "body-on-read",
        /// A body has a limit and a schema, no body has neither.
        BodyRule = "body-rule",
        /// Only a write can be calming.
        CalmingClass = "calming-class",
        /// Pausing and docking calm, and nothing else does.
        CalmingKind = "calming-kind",
        /// An account is a scope, is named by a query parameter, and whoever
        /// belongs to it sees of its members only what they may.
        AccountResource = "account-resource",
        /// Only a service that a caller reaches judges members.
        MembersServed = "members-served",
        /// Only a read is open to everybody.
        PublicClass = "public-class",
        /// A row that callers reach has an action, an internal one has none.
        ActionRule = "action-rule",
        /// The status of success is one of success.
        SuccessStatus = "success-status",
        /// A row is served on exactly one kind of listener.
        ServedNowhere = "served-nowhere",
        /// Every class has a promise for every failure, once.
        FailureMatrix = "failure-matrix",
        /// A promise does not contradict itself.
        FailurePromise = "failure-promise",
    }
}

/// A broken law and the place that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// File as a person would name it, `surface/drones.toml`.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// The law.
    pub law: Law,
    /// What is wrong and what to do.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            law,
            text,
        } = self;
        write!(f, "{file}:{line}: law {law}: {text}")
    }
}
