//! Step 5: a request that is understood becomes a permitted call, or its refusal.

use std::sync::Arc;

use http::HeaderMap;
use interlock_policies::ContextFacts;
use interlock_surface::{Params, Row};

use super::call::{self, Call, Trail};
use super::target::Target;
use crate::authn::Caller;
use crate::authorize::{Question, Refusal};
use crate::edge::body::Asked;
use crate::edge::query::Query;
use crate::edge::{Clean, headers};
use crate::gateway::Gateway;
use crate::idempotency::IdempotencyKey;
use crate::problem::Problem;

/// Who asks for what, before anybody has said whether.
#[derive(Clone)]
pub(super) struct Asking<'a> {
    pub(super) clean: &'a Clean,
    pub(super) headers: &'a HeaderMap,
    pub(super) row: &'static Row,
    pub(super) params: Params,
    pub(super) caller: &'a Arc<Caller>,
    pub(super) asked: Asked,
    pub(super) key: Option<IdempotencyKey>,
}

impl Asking<'_> {
    /// Judges it with the query that will be sent.
    ///
    /// # Errors
    /// The refusal, which `trail` then knows the decision of.
    pub(super) async fn judge(
        self,
        gateway: &Gateway,
        query: Query,
        trail: &mut Trail,
    ) -> Result<Call, Problem> {
        let (row, caller, now) = (self.row, self.caller, trail.at);
        // The generation first: what is judged is at least that new.
        let registry = gateway.registry.generation();
        let target = Target::find(gateway, row, (&self.params, &query), caller, now).await?;
        trail.resource(target.facts());
        let context = ContextFacts {
            mode: gateway.authn.mode(),
            loopback: self.clean.loopback(),
            kind: row.kind.map(str::to_owned),
            ttl_ms: self.asked.life(),
            idempotency_key: self.key.is_some(),
        };
        let question = Question {
            caller,
            row,
            resource: target.facts(),
            context: &context,
            registry,
            revision: target.revision(),
            now,
        };
        let permit = gateway.authorizer.authorize(&question).map_err(|refused| {
            let hidden = refused.refusal == Refusal::Hidden;
            let problem = trail.denied(refused);
            if hidden { target.hidden() } else { problem }
        })?;
        trail.permitted(&permit);
        Ok(Call {
            permit,
            asked: self.asked,
            params: self.params,
            query,
            key: self.key,
            path: self.clean.path().to_owned(),
            headers: headers::downstream_to_upstream(self.headers),
            if_match: call::if_match(row.class, self.headers)?,
            peer: self.clean.peer(),
            resource: Arc::clone(target.facts()),
            context,
            target,
        })
    }
}
