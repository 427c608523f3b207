//! The registry feed: services put, delete and beat, each only its own.

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use interlock_surface::ids::is_uuid;
use interlock_surface::{Params, ROWS, Row, ScopeId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::feed_token::{Bound, FeedTokenError, FeedTokens};
use crate::edge::json;
use crate::gateway::Gateway;
use crate::grant::Keyrings;
use crate::plans::ObjectRef;
use crate::problem::{Kind, Problem};
use crate::registry::{Object, SCOPE_TYPE, check_attributes, is_fed};
use crate::reply::{self, Reply};
use crate::store::{Heartbeat, Put, RegistryObject};

/// The header that carries the service's token.
const TOKEN: HeaderName = HeaderName::from_static("interlock-service");

/// The most scopes an object may hang in directly.
const PARENTS: usize = 64;

/// Who may feed the registry.
pub struct Feed {
    tokens: FeedTokens,
}

/// One call of the feed.
pub(super) struct FeedCall<'a> {
    pub(super) row: &'static Row,
    pub(super) params: &'a Params,
    pub(super) path_and_query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Bytes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutBody {
    revision: u64,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    attributes: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteBody {
    revision: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeatBody {
    owner: String,
    #[serde(default)]
    checks: Map<String, Value>,
}

impl Feed {
    /// A feed open to the services with the keys in force.
    pub fn new(rings: Keyrings) -> Self {
        Feed {
            tokens: FeedTokens::new(rings),
        }
    }

    /// The service that signed this call.
    pub(super) fn service(
        &self,
        gateway: &Gateway,
        call: &FeedCall<'_>,
    ) -> Result<String, Problem> {
        let token = token(call.headers).map_err(refused)?;
        let bound = Bound {
            method: call.row.method.as_str(),
            path_and_query: call.path_and_query,
            body: call.body,
        };
        self.tokens
            .verify(token, &bound, gateway.clock.now())
            .map_err(refused)
    }

    pub(super) async fn take(
        &self,
        gateway: &Gateway,
        call: FeedCall<'_>,
    ) -> Result<Reply, Problem> {
        let owner = self.service(gateway, &call)?;
        match call.row.name {
            "ops.registry.heartbeat" => beat(gateway, &owner, parse(call.body)?).await,
            "ops.registry.delete" => {
                let key = key(&call, &owner)?;
                let body: DeleteBody = parse(call.body)?;
                let put = gateway
                    .store
                    .registry
                    .delete(&key, &owner, body.revision)
                    .await?;
                taken(gateway, put, tombstone(key, owner, body.revision))
            }
            _ => {
                let key = key(&call, &owner)?;
                let body: PutBody = parse(call.body)?;
                check(&key.kind, &body)?;
                let object = RegistryObject {
                    kind: key.kind,
                    id: key.id,
                    owner,
                    revision: body.revision,
                    parents: body.parents,
                    attributes: body.attributes,
                };
                let put = gateway.store.registry.put(&object).await?;
                taken(gateway, put, Object::from(&object))
            }
        }
    }
}

fn token(headers: &HeaderMap) -> Result<&str, FeedTokenError> {
    let mut lines = headers.get_all(TOKEN).iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => line.to_str().map_err(|_| FeedTokenError::Malformed),
        _ => Err(FeedTokenError::Missing),
    }
}

fn refused(cause: FeedTokenError) -> Problem {
    tracing::warn!(%cause, "a feed call was refused");
    match cause {
        FeedTokenError::Busy => Problem::new(Kind::Overloaded, cause.to_string()),
        _ => Problem::unauthenticated(cause.to_string()),
    }
}

/// The object of a call. A service feeds the types of its own rows, and scopes.
fn key(call: &FeedCall<'_>, owner: &str) -> Result<ObjectRef, Problem> {
    let param = |name| call.params.get(name).unwrap_or_default().to_owned();
    let (kind, id) = (param("type"), param("id"));
    let fed = kind == SCOPE_TYPE
        || ROWS.iter().any(|row| {
            row.service == owner && row.resource.as_str() == kind && is_fed(row.resource)
        });
    match fed {
        true if spelled(&id) => Ok(ObjectRef { kind, id }),
        true => Err(Problem::invalid_request(vec![misspelled(&id)])),
        false => Err(Problem::new(
            Kind::Forbidden,
            format!("the service `{owner}` feeds no objects of the type `{kind}`"),
        )),
    }
}

/// Reads a body as strictly as a caller's: a name given twice would be one
/// thing here and another at the service that signed it.
pub(super) fn parse<T: DeserializeOwned>(body: &Bytes) -> Result<T, Problem> {
    let fits =
        |cause: String| Problem::invalid_request(vec![format!("the body does not fit: {cause}")]);
    let value = json::parse(body).map_err(|cause| fits(cause.to_string()))?;
    serde_json::from_value(value).map_err(|cause| fits(cause.to_string()))
}

/// Paths carry UUIDs in lower case: another spelling would never be found.
fn spelled(id: &str) -> bool {
    !is_uuid(id) || !id.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn misspelled(id: &str) -> String {
    format!("`{id}` is a UUID and must be in lower case (RFC 9562)")
}

/// All that is wrong with what policies will judge the object by.
fn check(kind: &str, body: &PutBody) -> Result<(), Problem> {
    let mut faults = Vec::new();
    if body.parents.len() > PARENTS {
        faults.push(format!("an object has at most {PARENTS} parents"));
    }
    for parent in body.parents.iter().take(PARENTS) {
        if parent.parse::<ScopeId>().is_err() {
            faults.push(format!("`{}` is no scope id", parent.escape_debug()));
        } else if !spelled(parent) {
            faults.push(misspelled(parent));
        }
    }
    faults.extend(
        check_attributes(kind, &body.attributes)
            .err()
            .map(|cause| cause.to_string()),
    );
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Problem::invalid_request(faults)),
    }
}

fn tombstone(key: ObjectRef, owner: String, revision: u64) -> Object {
    Object {
        kind: key.kind,
        id: key.id,
        owner,
        revision,
        parents: Vec::new(),
        attributes: Map::new(),
        deleted: true,
    }
}

/// The change is in the store; this replica takes it over at once, the others
/// follow the log.
fn taken(gateway: &Gateway, put: Put, object: Object) -> Result<Reply, Problem> {
    match put {
        Put::Applied { seq } | Put::Unchanged { seq } => {
            gateway.registry.apply(&object);
            Ok(reply::json(
                200,
                &serde_json::json!({ "sequence": seq, "revision": object.revision }),
            ))
        }
        Put::Stale { current } => Err(Problem::new(
            Kind::StaleRevision,
            format!("revision {} is not newer than {current}", object.revision),
        )
        .with("currentRevision", current.into())),
        Put::Foreign { owner } => Err(Problem::new(
            Kind::Forbidden,
            format!("the object belongs to the service `{owner}`"),
        )),
    }
}

async fn beat(gateway: &Gateway, owner: &str, body: BeatBody) -> Result<Reply, Problem> {
    if body.owner != owner {
        return Err(Problem::new(
            Kind::Forbidden,
            "a service beats for itself only",
        ));
    }
    let beat = Heartbeat {
        owner: owner.to_owned(),
        checks: Value::Object(body.checks),
        at: gateway.clock.now(),
    };
    // Heard here at once; a store that is gone must not make the service stale.
    gateway.registry.heard(beat.clone());
    let stored = gateway
        .store
        .registry
        .heartbeat(owner, &beat.checks, beat.at)
        .await;
    if let Err(cause) = &stored {
        tracing::debug!(%cause, "a heartbeat was heard by this replica only");
    }
    Ok(reply::json(
        200,
        &serde_json::json!({ "shared": stored.is_ok() }),
    ))
}
