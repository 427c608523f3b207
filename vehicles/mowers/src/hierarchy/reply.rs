//! How a change is answered, from the rows as they stand at its end.

use axum::http::StatusCode;
use serde_json::json;
use sqlx::AnyConnection;
use uuid::Uuid;

use super::rows;
use crate::operations::Answer;
use crate::service::problem::Problem;

/// What a change answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A site; `true`: a new one.
    Site(Uuid, bool),
    /// A group; `true`: a new one.
    Group(Uuid, bool),
    /// A mower; `true`: a new one.
    Mower(Uuid, bool),
    /// An account.
    Account(String),
    /// Nothing to show.
    Empty,
}

impl Reply {
    /// The answer.
    ///
    /// # Errors
    /// A [`Problem`] when the rows cannot be read.
    pub(super) async fn answer(&self, records: &mut AnyConnection) -> Result<Answer, Problem> {
        match self {
            Self::Site(id, new) => {
                let site = rows::site(records, *id).await?;
                made(*new, "sites", *id, &site.ok_or(Problem::Internal)?)
            }
            Self::Group(id, new) => {
                let group = rows::group(records, *id).await?;
                made(*new, "groups", *id, &group.ok_or(Problem::Internal)?)
            }
            Self::Mower(id, new) => {
                let mower = rows::mower(records, *id).await?;
                made(*new, "mowers", *id, &mower.ok_or(Problem::Internal)?)
            }
            Self::Account(id) => {
                let account = rows::account(records, id).await?.ok_or(Problem::Internal)?;
                let site = rows::default_site(records, id).await?;
                let body = json!({
                    "id": account.id,
                    "name": account.name,
                    "features": account.features,
                    "suspended": account.suspended,
                    "default_site_id": site.ok_or(Problem::Internal)?.id,
                });
                Answer::json(StatusCode::OK, &body)
            }
            Self::Empty => Ok(Answer::empty()),
        }
    }
}

fn made<T: serde::Serialize>(
    new: bool,
    noun: &str,
    id: Uuid,
    value: &T,
) -> Result<Answer, Problem> {
    match new {
        true => {
            Ok(Answer::json(StatusCode::CREATED, value)?.at(format!("/api/v1/fleet/{noun}/{id}")))
        }
        false => Answer::json(StatusCode::OK, value),
    }
}
