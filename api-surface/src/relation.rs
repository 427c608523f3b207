//! The relation between caller and resource that a row asks for.

terms! {
    /// What a caller must be to the resource; each is a Cedar action group.
    Relation {
        /// May see it, and therefore may stop it.
        View = "view",
        /// May move it.
        Control = "control",
        /// May steer it by hand.
        Drive = "drive",
        /// May decide about plans for it.
        Approve = "approve",
        /// May change what it is and where it hangs.
        Manage = "manage",
        /// May address all its members with one call.
        Bulk = "bulk",
    }
}

impl Relation {
    /// One sentence for people who read the rendered tables.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::View => "May see the resource, and therefore may stop it.",
            Self::Control => "May make the resource move.",
            Self::Drive => "May steer the resource by hand.",
            Self::Approve => "May decide about plans for the resource.",
            Self::Manage => "May change what the resource is and where it hangs.",
            Self::Bulk => "May address all members of the resource with one call.",
        }
    }
}
