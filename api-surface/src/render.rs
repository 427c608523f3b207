//! Documents made from the rows. Each is a golden in the repository, compared
//! by this crate's tests.

mod cedar;
mod markdown;
mod matrix;
mod openapi;
mod surface;

pub use cedar::cedar_actions;
pub use matrix::failure_matrix_md;
pub use openapi::openapi_json;
pub use surface::api_surface_md;

/// A document made from the rows and where the repository keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Golden {
    /// Path from the root of the repository.
    pub path: &'static str,
    /// Makes the document.
    pub render: fn() -> String,
}

/// Every document that is made from the rows.
pub static GOLDENS: &[Golden] = &[
    Golden {
        path: "docs/API-SURFACE.md",
        render: api_surface_md,
    },
    Golden {
        path: "docs/openapi.json",
        render: openapi_json,
    },
    Golden {
        path: "docs/FAILURE-MATRIX.md",
        render: failure_matrix_md,
    },
    Golden {
        path: "policies/bundle/schema/actions.cedarschema",
        render: cedar_actions,
    },
];
