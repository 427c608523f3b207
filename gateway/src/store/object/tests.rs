use serde_json::json;

use crate::store::{RegistryObject, StoreError};

fn example() -> RegistryObject {
    let document = include_str!("../../../../docs/REGISTRY.md");
    let block = document
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the document shows an object");
    serde_json::from_str(block).expect("the example is an object")
}

#[test]
fn the_documented_example_is_read_as_it_says() {
    let object = example();
    assert_eq!(object.key().kind, "Swarm");
    assert_eq!(object.key().id, "swarm-1");
    assert_eq!(object.owner, "drones");
    assert_eq!(object.revision, 7);
    assert_eq!(object.parents, ["acme"]);
    assert_eq!(object.attributes["model"], "x500");
}

#[test]
fn unknown_fields_are_refused() {
    let mut json = serde_json::to_value(example()).expect("JSON");
    json["parent"] = json!("acme");
    let error = serde_json::from_value::<RegistryObject>(json).expect_err("refused");
    assert!(error.to_string().contains("`parent`"), "{error}");
}

#[test]
fn equal_content_has_equal_text() {
    let one = example().encoded().expect("text");
    let mut other = example();
    other.attributes = serde_json::from_str(r#"{ "b": 2.0, "a": 1 }"#).expect("JSON");
    let mut same = other.clone();
    same.attributes = serde_json::from_str(r#"{"a":1.0,"b":2}"#).expect("JSON");
    assert_eq!(other.encoded(), same.encoded());
    assert_ne!(other.encoded(), Ok(one.clone()));
    assert_eq!(
        serde_json::from_str::<RegistryObject>(&one).expect("an object"),
        example()
    );
}

#[test]
fn numbers_that_could_not_be_compared_are_refused() {
    let mut object = example();
    object.attributes.insert("big".to_owned(), json!(u64::MAX));
    let refused = object.encoded();
    let Err(StoreError::Refused { detail }) = refused else {
        panic!("{refused:?}");
    };
    assert!(detail.contains("`Swarm` `swarm-1`"), "{detail}");
    assert!(detail.contains("18446744073709551615"), "{detail}");
}
