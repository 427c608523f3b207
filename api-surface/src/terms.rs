//! The closed vocabularies of a row, each written once as enum and text.
//!
//! The build script compiles this file too, so a word that the tables may use
//! and a word that the program knows cannot drift apart.

/// Declares an enum whose variants are words of the tables.
macro_rules! terms {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as the tables write it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// The value of a word, or `None` when the vocabulary lacks it.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

terms! {
    /// A request method a row may list (RFC 9110 section 9, RFC 5789).
    ///
    /// HEAD is not listed: it is its GET without a body. Any other method of a
    /// known path is 405.
    Method {
        /// Reads a representation.
        Get = "GET",
        /// Processes the body.
        Post = "POST",
        /// Replaces the target.
        Put = "PUT",
        /// Changes the target in part.
        Patch = "PATCH",
        /// Removes the target.
        Delete = "DELETE",
    }
}

terms! {
    /// The Cedar entity type a row acts on.
    ResourceType {
        /// This installation's gateway itself.
        Gateway = "Gateway",
        /// A swarm of drones; a mission is judged on its swarm.
        Swarm = "Swarm",
        /// A robotic mower.
        Mower = "Mower",
        /// A node of the hierarchy: an account, a site or a group.
        Scope = "Scope",
        /// A plan kept by the gateway, under its vehicle's scope.
        Plan = "Plan",
    }
}

terms! {
    /// What a row does with the `Idempotency-Key` request header.
    Idempotency {
        /// A key is honored when sent, and may be left out.
        Honoured = "honoured",
        /// A call without a key is refused.
        Required = "required",
        /// A key means nothing here and is ignored.
        Never = "never",
    }
}

terms! {
    /// Whether a call carries a body.
    BodyRule {
        /// A body is refused.
        None = "none",
        /// A body may be left out.
        Optional = "optional",
        /// A body must be there.
        Required = "required",
    }
}

terms! {
    /// Who answers the call.
    ServedBy {
        /// The gateway itself, on the public listener.
        Gateway = "gateway",
        /// The vehicle service that the table is named after.
        Service = "service",
        /// The gateway's operations listener.
        Ops = "ops",
    }
}

terms! {
    /// What a path parameter accepts.
    ParamKind {
        /// A UUID in any case (RFC 9562), canonicalized to lower case.
        Uuid = "uuid",
        /// An id: 1 to 64 of `A-Z a-z 0-9 . _ : -`, first a letter or digit.
        Text = "text",
    }
}
