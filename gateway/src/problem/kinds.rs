//! Every problem the gateway itself answers with, as one table.

/// A kind of problem. The order here is the order of `docs/STATUS-CODES.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request line cannot be read one way only.
    InvalidPath,
    /// A header is malformed, doubled or contradicts another.
    InvalidHeader,
    /// The body or the query does not fit the row.
    InvalidRequest,
    /// The idempotency key is malformed.
    InvalidIdempotencyKey,
    /// The row asks for an idempotency key.
    IdempotencyKeyRequired,
    /// No valid token where one is needed.
    Unauthenticated,
    /// Visible, but not allowed.
    Forbidden,
    /// The account has not booked what the call needs.
    FeatureNotInPlan,
    /// What the agent asks needs a plan that a person approves.
    AgentNeedsPlan,
    /// It is quiet time where the vehicle is.
    QuietHours,
    /// A browser on a foreign origin asks.
    CrossOrigin,
    /// The approval code does not match.
    ApprovalRefused,
    /// Nothing there, or nothing the caller may know of.
    NotFound,
    /// The path exists with other methods.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The plan's state does not allow this.
    PlanState,
    /// The same idempotency key is still running.
    RequestInProgress,
    /// What an earlier request under this key did is not known.
    OutcomeUnknown,
    /// A registry change is older than what is known.
    StaleRevision,
    /// `If-Match` names another digest.
    DigestMismatch,
    /// The body is over the row's limit.
    BodyTooLarge,
    /// The body is not what the row takes.
    UnsupportedMediaType,
    /// The host is not ours.
    MisdirectedRequest,
    /// The key was used for another request.
    IdempotencyKeyReuse,
    /// The command asks for a longer life than its kind may have.
    TtlTooLong,
    /// The caller holds too many keys or open plans.
    QuotaExceeded,
    /// A fault of the gateway itself.
    Internal,
    /// Upgrades and tunnels are not offered.
    NotImplemented,
    /// The service's answer cannot be used.
    BadAnswer,
    /// A policy could not be evaluated.
    PolicyBroken,
    /// The key set of the token's issuer was never reached.
    KeysUnavailable,
    /// The store did not answer.
    StoreUnavailable,
    /// The decision record could not be written.
    AuditUnavailable,
    /// The service has not been heard of for too long.
    RegistryStale,
    /// The service was not reached; nothing was sent.
    ServiceUnavailable,
    /// Too many requests under way.
    Overloaded,
    /// A stop could not be delivered.
    NotStopped,
    /// A read or a preview got no answer in time.
    NoAnswer,
    /// A write got no trustworthy answer.
    MayHaveActed,
    /// A stop got no trustworthy answer.
    MayNotHaveStopped,
}

/// The fixed part of a problem.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The last part of `urn:interlock:problem:`.
    pub slug: &'static str,
    /// HTTP status.
    pub status: u16,
    /// RFC 9457 title, the same for every occurrence.
    pub title: &'static str,
    /// What the caller should do.
    pub advice: &'static str,
}

const fn facts(
    slug: &'static str,
    status: u16,
    title: &'static str,
    advice: &'static str,
) -> Facts {
    Facts {
        slug,
        status,
        title,
        advice,
    }
}

impl Kind {
    /// All kinds, for the documentation and for the test that sees each.
    pub const ALL: [Kind; 40] = [
        Kind::InvalidPath,
        Kind::InvalidHeader,
        Kind::InvalidRequest,
        Kind::InvalidIdempotencyKey,
        Kind::IdempotencyKeyRequired,
        Kind::Unauthenticated,
        Kind::Forbidden,
        Kind::FeatureNotInPlan,
        Kind::AgentNeedsPlan,
        Kind::QuietHours,
        Kind::CrossOrigin,
        Kind::ApprovalRefused,
        Kind::NotFound,
        Kind::MethodNotAllowed,
        Kind::RequestTimeout,
        Kind::PlanState,
        Kind::RequestInProgress,
        Kind::OutcomeUnknown,
        Kind::StaleRevision,
        Kind::DigestMismatch,
        Kind::BodyTooLarge,
        Kind::UnsupportedMediaType,
        Kind::MisdirectedRequest,
        Kind::IdempotencyKeyReuse,
        Kind::TtlTooLong,
        Kind::QuotaExceeded,
        Kind::Internal,
        Kind::NotImplemented,
        Kind::BadAnswer,
        Kind::PolicyBroken,
        Kind::KeysUnavailable,
        Kind::StoreUnavailable,
        Kind::AuditUnavailable,
        Kind::RegistryStale,
        Kind::ServiceUnavailable,
        Kind::Overloaded,
        Kind::NotStopped,
        Kind::NoAnswer,
        Kind::MayHaveActed,
        Kind::MayNotHaveStopped,
    ];

    /// Slug, status, title and advice of this kind.
    pub const fn facts(self) -> Facts {
        match self {
            Kind::InvalidPath => facts(
                "invalid-path",
                400,
                "Invalid path",
                "Send the path in its one canonical spelling: no dot segments, no doubled slashes, no escaped separators.",
            ),
            Kind::InvalidHeader => facts(
                "invalid-header",
                400,
                "Invalid header",
                "Send each single-value header once and well formed; the detail names it.",
            ),
            Kind::InvalidRequest => facts(
                "invalid-request",
                400,
                "Invalid request",
                "Correct what `errors` lists and send again.",
            ),
            Kind::InvalidIdempotencyKey => facts(
                "invalid-idempotency-key",
                400,
                "Invalid Idempotency-Key",
                "Use 1 to 200 of `A-Z a-z 0-9 . _ : -`, bare or as a quoted string.",
            ),
            Kind::IdempotencyKeyRequired => facts(
                "idempotency-key-required",
                400,
                "Idempotency-Key required",
                "Send a fresh key for each intent and the same key for its repeats. Agents need one for plans and dispatches.",
            ),
            Kind::Unauthenticated => facts(
                "unauthenticated",
                401,
                "Not authenticated",
                "Send a current access token of a configured issuer as `Authorization: Bearer`.",
            ),
            Kind::Forbidden => facts(
                "forbidden",
                403,
                "Forbidden",
                "Where `reasons` names a guard, see in the policies what it asks for; otherwise ask whoever grants roles on this object.",
            ),
            Kind::FeatureNotInPlan => facts(
                "feature-not-in-plan",
                403,
                "Not included in the account's plan",
                "Have the feature added to the account. Pausing, docking and stopping work without it.",
            ),
            Kind::AgentNeedsPlan => facts(
                "agent-needs-plan",
                403,
                "An agent needs an approved plan for this",
                "Propose a plan, let a person approve it, and dispatch it with the code.",
            ),
            Kind::QuietHours => facts(
                "quiet-hours",
                403,
                "Quiet hours",
                "Try again when they are over. Pausing, docking and stopping work at any time.",
            ),
            Kind::CrossOrigin => facts(
                "cross-origin",
                403,
                "Cross-origin request refused",
                "Call from the gateway's own origin, or without a browser.",
            ),
            Kind::ApprovalRefused => facts(
                "approval-refused",
                403,
                "Approval refused",
                "Send the code that the approver was shown once; it was not used up by this.",
            ),
            Kind::NotFound => facts(
                "not-found",
                404,
                "Not found",
                "Check the path and the id. What you may not see does not exist for you.",
            ),
            Kind::MethodNotAllowed => facts(
                "method-not-allowed",
                405,
                "Method not allowed",
                "Use one of the methods in `Allow`.",
            ),
            Kind::RequestTimeout => facts(
                "request-timeout",
                408,
                "Request timeout",
                "Send the whole body without pauses.",
            ),
            Kind::PlanState => facts(
                "plan-state",
                409,
                "Plan is not in a state that allows this",
                "Read the plan; its `status` says what can still be done.",
            ),
            Kind::RequestInProgress => facts(
                "request-in-progress",
                409,
                "Request in progress",
                "Wait and repeat the same request under the same key.",
            ),
            Kind::OutcomeUnknown => facts(
                "outcome-unknown",
                409,
                "Outcome unknown",
                "Check the state that the detail names before asking again with a new key.",
            ),
            Kind::StaleRevision => facts(
                "stale-revision",
                409,
                "Revision is not newer",
                "Read the object's present state and send its change under a newer revision.",
            ),
            Kind::DigestMismatch => facts(
                "digest-mismatch",
                412,
                "Plan differs from the one named",
                "Read the plan again and decide on what it says now.",
            ),
            Kind::BodyTooLarge => facts(
                "body-too-large",
                413,
                "Body too large",
                "Stay within the row's body limit.",
            ),
            Kind::UnsupportedMediaType => facts(
                "unsupported-media-type",
                415,
                "Unsupported media type",
                "Send `Content-Type: application/json` in UTF-8, not compressed.",
            ),
            Kind::MisdirectedRequest => facts(
                "misdirected-request",
                421,
                "Misdirected request",
                "Use a host name that the gateway is configured for.",
            ),
            Kind::IdempotencyKeyReuse => facts(
                "idempotency-key-reuse",
                422,
                "Idempotency-Key reused",
                "Take a new key for a different request.",
            ),
            Kind::TtlTooLong => facts(
                "ttl-too-long",
                422,
                "Command would live too long",
                "Ask for at most 600 seconds, for a drive frame at most 2000 milliseconds.",
            ),
            Kind::QuotaExceeded => facts(
                "quota-exceeded",
                429,
                "Quota exceeded",
                "Finish or reject what is open, or wait until older entries lapse.",
            ),
            Kind::Internal => facts(
                "internal",
                500,
                "Internal error",
                "Report it with the time of the request; the log has the cause.",
            ),
            Kind::NotImplemented => facts(
                "not-implemented",
                501,
                "Not implemented",
                "Upgrades and tunnels are not offered here.",
            ),
            Kind::BadAnswer => facts(
                "bad-answer",
                502,
                "Bad answer from the service",
                "Nothing moved. Report it: the service broke its contract.",
            ),
            Kind::PolicyBroken => facts(
                "policy-broken",
                503,
                "Policy could not be evaluated",
                "Nothing was done. The security team finds the policy in the log.",
            ),
            Kind::KeysUnavailable => facts(
                "keys-unavailable",
                503,
                "Identity provider not reached",
                "Nothing was done. Try again once the provider answers.",
            ),
            Kind::StoreUnavailable => facts(
                "store-unavailable",
                503,
                "Store unavailable",
                "Nothing was sent to a vehicle. Stops go on; try the rest again later.",
            ),
            Kind::AuditUnavailable => facts(
                "audit-unavailable",
                503,
                "Decision record could not be written",
                "Nothing was sent to a vehicle. Stops go on; try the rest again later.",
            ),
            Kind::RegistryStale => facts(
                "registry-stale",
                503,
                "Vehicle service not heard of",
                "Nothing was sent. Reads and stops go on; try again once the service reports.",
            ),
            Kind::ServiceUnavailable => facts(
                "service-unavailable",
                503,
                "Vehicle service unavailable",
                "Nothing was sent. Try again later.",
            ),
            Kind::Overloaded => facts(
                "overloaded",
                503,
                "Overloaded",
                "Nothing was sent. Stops go on; try the rest again after a pause.",
            ),
            Kind::NotStopped => facts(
                "not-stopped",
                503,
                "Not stopped: it may still be moving",
                "The stop reached nobody. Use the vehicle's own stop, and try again.",
            ),
            Kind::NoAnswer => facts(
                "no-answer",
                504,
                "No answer in time",
                "Nothing moved. Try again.",
            ),
            Kind::MayHaveActed => facts(
                "may-have-acted",
                504,
                "May have taken effect",
                "Do not repeat it blindly: read the state first.",
            ),
            Kind::MayNotHaveStopped => facts(
                "may-not-have-stopped",
                504,
                "May not have stopped: it may still be moving",
                "Look at the vehicle, use its own stop, and try again: repeating a stop is safe.",
            ),
        }
    }
}
