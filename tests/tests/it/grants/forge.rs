//! Grants made by hand, good but for what a test makes bad.

use std::net::SocketAddr;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_tests::mowers::Mowers;
use interlock_tests::system::System;
use interlock_tests::wire::{Raw, Wire};
use jiff::Timestamp;
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Value, json};
use uuid::Uuid;

/// One request to a vehicle service, past the gateway.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    pub(super) method: &'static str,
    pub(super) target: String,
    pub(super) body: String,
    /// Each in a header line of its own.
    pub(super) grants: Vec<String>,
}

impl Direct {
    /// Calls the drone service on a connection of its own.
    pub(super) fn send(&self, system: &System) -> Raw {
        self.send_to(system.drones.address())
    }

    /// Calls the mower service on a connection of its own.
    pub(super) fn send_fleet(&self, system: &System) -> Raw {
        self.send_to(fleet(system).address())
    }

    fn send_to(&self, address: SocketAddr) -> Raw {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {address}\r\n",
            self.method, self.target
        );
        for grant in &self.grants {
            head += &format!("Interlock-Grant: {grant}\r\n");
        }
        if !self.body.is_empty() {
            let length = self.body.len();
            head += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        let mut wire = Wire::connect(address);
        wire.send(format!("{head}\r\n{}", self.body));
        wire.answer_to(self.method).expect("an answer")
    }
}

/// What a grant says, and how it is signed.
#[derive(Clone, Debug)]
pub(super) struct Forge {
    pub(super) claims: Value,
    pub(super) header: Header,
    pub(super) secret: Vec<u8>,
}

impl Forge {
    /// A grant that holds for a request of `row`, signed with the key that the
    /// gateway shares with the service.
    pub(super) fn good(
        system: &System,
        row: &str,
        method: &str,
        target: &str,
        body: &str,
    ) -> Forge {
        let keys = &system.gateway().config.keys;
        Forge::signed_with(&keys[0], "drones", row, method, target, body)
    }

    /// The same for a request to the mower service.
    pub(super) fn fleet(
        system: &System,
        row: &str,
        method: &str,
        target: &str,
        body: &str,
    ) -> Forge {
        let (_, keys) = system.gateway().config.mowers.as_ref().expect("mowers");
        Forge::signed_with(&keys[0], "mowers", row, method, target, body)
    }

    fn signed_with(
        shared: &str,
        audience: &str,
        row: &str,
        method: &str,
        target: &str,
        body: &str,
    ) -> Forge {
        let (kid, secret) = key(shared);
        let action = interlock_surface::row(row).and_then(|row| row.action);
        let now = Timestamp::now();
        let seconds = now.as_second();
        let id = || Uuid::new_v4().to_string();
        let claims = json!({
            "iss": "interlock", "aud": audience, "iat": seconds, "exp": seconds + 30, "jti": id(),
            "caller": { "kind": "Person", "issuer": "https://idp", "subject": "olivia", "actor": null },
            "row": row, "action": action.unwrap_or("mission_start"), "method": method, "path": target,
            "body": digest_of(body), "decision": id(), "operation": id(),
            "askedAt": now.as_millisecond(), "deadline": now.as_millisecond() + 10_000,
        });
        let mut header = Header::new(jsonwebtoken::Algorithm::HS256);
        header.typ = Some("interlock-grant+jwt".to_owned());
        header.kid = Some(kid);
        Forge {
            claims,
            header,
            secret,
        }
    }

    /// With one claim changed.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Forge {
        self.claims[name] = value.into();
        self
    }

    /// Without one claim.
    pub(super) fn without(mut self, name: &str) -> Forge {
        let claims = self.claims.as_object_mut().expect("claims are an object");
        claims.remove(name).expect("a claim to take away");
        self
    }

    /// With the header or the secret changed.
    pub(super) fn signed(mut self, change: impl FnOnce(&mut Forge)) -> Forge {
        change(&mut self);
        self
    }

    /// The token.
    pub(super) fn token(&self) -> String {
        let key = EncodingKey::from_secret(&self.secret).expect("a secret");
        jsonwebtoken::encode(&self.header, &self.claims, &key).expect("claims can be signed")
    }
}

/// The mower service.
pub(super) fn fleet(system: &System) -> &Mowers {
    system.mowers.as_ref().expect("a plan with mowers")
}

/// Id and secret of `id:base64url`.
pub(super) fn key(text: &str) -> (String, Vec<u8>) {
    let (id, secret) = text.split_once(':').expect("a key has an id");
    let secret = URL_SAFE_NO_PAD.decode(secret).expect("a key is base64url");
    (id.to_owned(), secret)
}

/// As `docs/GRANTS.md` has it; not by the code under test.
pub(crate) fn digest_of(body: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, body.as_bytes()))
}
