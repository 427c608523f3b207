//! The class of a row: how dangerous a call is, and what it must pass.

terms! {
    /// The class of an endpoint or command kind.
    ///
    /// A class is given by the row, never derived from a name.
    Class {
        /// Changes nothing; a token is optional and policy decides.
        Read = "read",
        /// Changes nothing, but returns one party's data: a token is needed.
        PrivateRead = "private-read",
        /// Stores data; nothing moves.
        Record = "record",
        /// Stores a proposal and its preview; nothing moves.
        Plan = "plan",
        /// A person's decision about a plan.
        Approval = "approval",
        /// Moves vehicles, only with an approval code.
        GatedWrite = "gated-write",
        /// Moves or changes by right of policy alone.
        Write = "write",
        /// Stops or lands; never gated by approval, store or quota.
        SafetyWrite = "safety-write",
        /// Between gateway and service; 404 from outside.
        Internal = "internal",
    }
}

impl Class {
    /// The Cedar action group of the class, in snake case.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::PrivateRead => "private_read",
            Self::Record => "record",
            Self::Plan => "plan",
            Self::Approval => "approval",
            Self::GatedWrite => "gated_write",
            Self::Write => "write",
            Self::SafetyWrite => "safety_write",
            Self::Internal => "internal",
        }
    }

    /// Whether calls of this class change nothing anywhere.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::PrivateRead)
    }

    /// One sentence for people who read the rendered tables.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Read => {
                "Changes nothing. A token is optional: without one the caller is `Anonymous` and policy decides."
            }
            Self::PrivateRead => {
                "Changes nothing, but returns one party's data, so a token is needed."
            }
            Self::Record => "Stores data. Nothing moves.",
            Self::Plan => "Stores a proposal with its preview. Nothing moves.",
            Self::Approval => "A person's decision about a plan. Nothing moves.",
            Self::GatedWrite => {
                "Moves vehicles, and only with the single-use code of an approved plan."
            }
            Self::Write => "Moves or changes something by right of policy alone.",
            Self::SafetyWrite => {
                "Stops or lands. Never gated by an approval, a store, a quota or a key; whoever may view may stop."
            }
            Self::Internal => {
                "Between the gateway and a service, or on the operations listener. 404 on the public listener."
            }
        }
    }
}
