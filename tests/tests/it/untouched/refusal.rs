//! The ways in which a call is refused.

use interlock_surface::{BodyRule, Class, ResourceFrom, Row};
use interlock_tests::personas::Persona;
use interlock_tests::system::System;
use interlock_tests::wire::{Raw, Wire};
use uuid::Uuid;

use crate::personas::stage::Ask;

/// One way. The last two are of open mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NoToken,
    Forged,
    Expired,
    Forbidden,
    Hidden,
    MalformedBody,
    UnknownField,
    MalformedKey,
    WrongVerb,
    WrongHost,
    CrossOrigin,
    CrossSite,
}

impl Refusal {
    /// Those of enforced mode.
    pub(super) const ALL: [Refusal; 10] = [
        Refusal::NoToken,
        Refusal::Forged,
        Refusal::Expired,
        Refusal::Forbidden,
        Refusal::Hidden,
        Refusal::MalformedBody,
        Refusal::UnknownField,
        Refusal::MalformedKey,
        Refusal::WrongVerb,
        Refusal::WrongHost,
    ];

    /// The status, or `None` where the row cannot be refused like this: who may
    /// see may stop, a stop may come from anywhere, and its key never refuses it.
    pub(super) fn status(self, row: &Row) -> Option<u16> {
        let stop = row.class == Class::SafetyWrite;
        match self {
            Refusal::Forbidden
            | Refusal::CrossOrigin
            | Refusal::CrossSite
            | Refusal::MalformedKey
                if stop =>
            {
                None
            }
            // Everybody may ask of their own account, and the service omits.
            Refusal::Hidden if row.resource_from == ResourceFrom::Account => None,
            // A stop among the commands is one by its kind, whatever else the
            // body says.
            Refusal::UnknownField if stop && row.kind.is_some() => None,
            // A stop that takes no body looks at none.
            Refusal::MalformedBody | Refusal::UnknownField
                if stop && row.body == BodyRule::None =>
            {
                None
            }
            // One that is a kind is done without what is not known of it.
            Refusal::UnknownField if stop && row.kind.is_some() => None,
            Refusal::NoToken | Refusal::Forged | Refusal::Expired => Some(401),
            Refusal::Forbidden | Refusal::CrossOrigin | Refusal::CrossSite => Some(403),
            Refusal::Hidden => Some(404),
            Refusal::MalformedBody | Refusal::UnknownField | Refusal::MalformedKey => Some(400),
            Refusal::WrongVerb => Some(405),
            Refusal::WrongHost => Some(421),
        }
    }

    /// Whether policy is asked.
    pub(super) fn decided(self) -> bool {
        matches!(self, Refusal::Forbidden | Refusal::Hidden)
    }

    /// Who calls: somebody who may, unless that is what is wrong.
    fn persona(self, row: &Row) -> Persona {
        match self {
            Refusal::NoToken => Persona::Nobody,
            Refusal::Forged => Persona::Forged,
            Refusal::Expired => Persona::Expired,
            Refusal::Forbidden => Persona::Viewer,
            Refusal::Hidden => Persona::Foreign,
            _ if row.class == Class::Approval => Persona::Approver,
            _ => Persona::Operator,
        }
    }

    /// Makes the call, good but for one thing.
    pub(super) fn send(self, system: &System, ask: &Ask) -> Raw {
        let address = system.gateway().address();
        let host = match self {
            Refusal::WrongHost => "elsewhere.example".to_owned(),
            _ => address.to_string(),
        };
        let method = match self {
            Refusal::WrongVerb => "PROPFIND",
            _ => ask.row.method.as_str(),
        };
        let key = match self {
            Refusal::MalformedKey => "a b".to_owned(),
            _ => Uuid::new_v4().to_string(),
        };
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: {key}\r\n",
            ask.path
        );
        if let Some(token) = self.persona(ask.row).token(&system.idp) {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        match self {
            Refusal::CrossOrigin => head += "Origin: https://elsewhere.example\r\n",
            Refusal::CrossSite => head += "Sec-Fetch-Site: cross-site\r\n",
            _ => {}
        }
        let body = self.body(ask);
        if !body.is_empty() {
            let length = body.len();
            head += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        let mut wire = Wire::connect(address);
        wire.send(format!("{head}\r\n{body}"));
        wire.answer_to(method).expect("an answer")
    }

    fn body(self, ask: &Ask) -> String {
        let mut body = ask.body.clone();
        match self {
            Refusal::MalformedBody => "{\"name\":".to_owned(),
            Refusal::UnknownField => {
                let body = body.get_or_insert_with(|| serde_json::json!({}));
                body["altitude"] = serde_json::json!(3);
                body.to_string()
            }
            _ => body.map_or(String::new(), |body| body.to_string()),
        }
    }
}
