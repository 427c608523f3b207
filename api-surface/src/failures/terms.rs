//! The words of the failure matrix.

terms! {
    /// What has failed.
    Condition {
        /// The store of plans, keys and registry does not answer.
        StoreDown = "store-down",
        /// The identity provider's keys cannot be fetched.
        KeysUnreachable = "keys-unreachable",
        /// A changed policy bundle was refused.
        BadPolicyReload = "bad-policy-reload",
        /// Audit records cannot be written.
        AuditFailing = "audit-failing",
        /// The service failed, for a passing reason, and nothing moved.
        EffectNone = "effect-none",
        /// The call was sent and no trustworthy answer came back.
        EffectUnclear = "effect-unclear",
    }
}

terms! {
    /// A line of the matrix: the class of a row, calming rows apart.
    Line {
        /// Reads.
        Read = "read",
        /// Reads of one party's data.
        PrivateRead = "private-read",
        /// Stored data.
        Record = "record",
        /// Proposals.
        Plan = "plan",
        /// Decisions about proposals.
        Approval = "approval",
        /// Writes by right of policy.
        Write = "write",
        /// Writes with a code.
        GatedWrite = "gated-write",
        /// Writes that calm a vehicle down.
        Calming = "calming",
        /// Stops.
        SafetyWrite = "safety-write",
    }
}

terms! {
    /// Which calls of a line a cell speaks of.
    Case {
        /// All of them.
        Any = "any",
        /// Those with an idempotency key.
        Keyed = "keyed",
        /// Those without one.
        Unkeyed = "unkeyed",
    }
}

terms! {
    /// What the caller gets.
    Answer {
        /// The call goes on as if nothing had failed.
        Serve = "serve",
        /// The call is answered with the status of the cell.
        Refuse = "refuse",
    }
}

terms! {
    /// What a refusal tells about the vehicle.
    Told {
        /// Nothing moved.
        None = "none",
        /// It may have moved.
        Maybe = "maybe",
    }
}

terms! {
    /// What becomes of the idempotency key.
    KeyFate {
        /// It can be used again at once.
        Released = "released",
        /// It answers 409 until the operation is settled.
        Unknown = "unknown",
    }
}

terms! {
    /// What becomes of the approval code.
    CodeFate {
        /// It is valid again.
        Returned = "returned",
        /// It is used up.
        Spent = "spent",
        /// It was never looked at.
        Untouched = "untouched",
    }
}

impl Condition {
    /// One sentence for people who read the rendered matrix.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::StoreDown => {
                "The store of plans, keys and registry refuses, hangs, resets or has no connection left."
            }
            Self::KeysUnreachable => "The identity provider's keys cannot be fetched.",
            Self::BadPolicyReload => "A changed policy bundle does not load and was refused.",
            Self::AuditFailing => "Audit records cannot be written.",
            Self::EffectNone => {
                "The vehicle service failed for a passing reason, and it is certain that nothing moved."
            }
            Self::EffectUnclear => {
                "The call was sent, and no answer came that says whether it took effect."
            }
        }
    }
}
