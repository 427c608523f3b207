use super::Body;
use crate::service::problem::Problem;

fn check(text: &str, expected: &[&str]) {
    let faults = match Body::open(text.as_bytes()).and_then(|mut body| {
        let name = body.required("name");
        body.text("name", name, 1, 5);
        let given = body.take("ids");
        body.ids("ids", given, 2);
        let given = body.take("height");
        body.number("height", given, -1.0, 1.0);
        let given = body.take("count");
        body.whole("count", given, 1, 9);
        let given = body.take("inner");
        body.object("inner", given, |inner| {
            let on = inner.required("on");
            inner.flag("on", on)
        });
        let given = body.take("each");
        body.objects("each", given, 2, |each| each.take("x"));
        body.end()
    }) {
        Ok(()) => Vec::new(),
        Err(Problem::Invalid(faults)) => faults,
        Err(other) => vec![other.to_string()],
    };
    assert_eq!(faults, expected, "{text}");
}

#[test]
fn a_sound_body_has_no_faults() {
    check(
        r#"{"name":"a","ids":["0199aaaa-0000-7000-8000-000000000001"],"height":0.5,"count":3,
            "inner":{"on":true},"each":[{"x":1}]}"#,
        &[],
    );
}

#[test]
fn every_fault_is_told_with_its_place() {
    check(
        r#"{"ids":["x"],"height":2,"count":1.5,"inner":{"off":1},"each":[{"x":1,"y":2},7],"more":0}"#,
        &[
            "`name` is required",
            "`ids[0]` must be a UUID",
            "`height` must be a number from -1 to 1",
            "`count` must be a whole number from 1 to 9",
            "`inner.on` is required",
            "unknown field `inner.off`",
            "unknown field `each[0].y`",
            "`each[1]` must be an object, not a number",
            "unknown field `more`",
        ],
    );
    check(
        r#"{"name":" a"}"#,
        &["`name` must have no blanks around it and no control characters"],
    );
    check(
        r#"{"name":"abcdef"}"#,
        &["`name` must have 1 to 5 characters, not 6"],
    );
    check(
        r#"{"name":"a","ids":["0199aaaa-0000-7000-8000-000000000001","0199AAAA-0000-7000-8000-000000000001"]}"#,
        &["`ids[1]` is repeated"],
    );
    check("[]", &["the body must be a JSON object, not an array"]);
}

#[test]
fn a_name_given_twice_is_not_resolved() {
    let problem = Body::open(br#"{"name":"a","name":"b"}"#).err();
    assert!(matches!(problem, Some(Problem::Unreadable(text)) if text.contains("repeated")));
}
