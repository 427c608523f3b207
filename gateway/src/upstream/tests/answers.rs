//! What an answer says about its effect, and how it is read.

use bytes::Bytes;
use http::StatusCode;

use crate::effect::Effect;
use crate::upstream::{
    Endpoint, EndpointError, UpstreamBody, UpstreamLimits, Upstreams, collect, effect_of,
};

#[test]
fn the_effect_is_what_the_answer_states() {
    let check = |status: u16, body: &str, expected: Effect| {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(
            effect_of(status, body.as_bytes()),
            expected,
            "{status} {body}"
        );
    };
    check(200, "", Effect::Done);
    check(202, r#"{"effect":"none"}"#, Effect::Done);
    check(409, r#"{"type":"x","effect":"none"}"#, Effect::None);
    check(409, r#"{"effect":"done"}"#, Effect::Done);
    check(503, r#"{"effect":"none"}"#, Effect::None);
    check(500, r#"{"effect":"maybe"}"#, Effect::Maybe);
    // Nothing stated, or nothing that can be trusted.
    check(400, "", Effect::Maybe);
    check(404, "{}", Effect::Maybe);
    check(500, "oops", Effect::Maybe);
    check(503, r#"{"effect":"None"}"#, Effect::Maybe);
    check(503, r#"{"effect":null}"#, Effect::Maybe);
    check(503, r#"{"effect":"none","effect":"done"}"#, Effect::Maybe);
    check(503, r#"[{"effect":"none"}]"#, Effect::Maybe);
    check(503, r#"{"effect":"none"} trailing"#, Effect::Maybe);
    check(307, r#"{"effect":"none"}"#, Effect::Maybe);
    check(304, "", Effect::Maybe);
}

#[tokio::test]
async fn a_body_is_read_up_to_the_limit() {
    let body = || UpstreamBody::whole(Bytes::from_static(b"12345"));
    assert_eq!(collect(body(), 5).await.unwrap(), "12345");
    assert_eq!(collect(body(), 4).await.unwrap_err().label(), "too_large");
    let empty = UpstreamBody::whole(Bytes::new());
    assert_eq!(collect(empty, 0).await.unwrap(), "");
}

#[test]
fn endpoints_are_checked() {
    let check = |authority: &str, sound: bool| {
        let endpoint = Endpoint {
            service: "drones".to_owned(),
            authorities: vec![authority.to_owned()],
        };
        let result = Upstreams::new(&[endpoint], &UpstreamLimits::default());
        assert_eq!(result.is_ok(), sound, "{authority}");
    };
    check("127.0.0.1:9001", true);
    check("[::1]:9001", true);
    check("drones.internal:9001", true);
    check("127.0.0.1", false);
    check("127.0.0.1:0", false);
    check("user@127.0.0.1:9001", false);
    check("http://127.0.0.1:9001", false);
    check("", false);

    let twice = ["a:1", "b:1"].map(|authority| Endpoint {
        service: "drones".to_owned(),
        authorities: vec![authority.to_owned()],
    });
    let result = Upstreams::new(&twice, &UpstreamLimits::default());
    assert!(matches!(result, Err(EndpointError::Duplicate { .. })));
}
