use serde_json::{Value, json};

use super::{MowerFields, NewAccount, NewGroup, NewMower, Placement, SiteFields};
use crate::service::problem::Problem;

fn faults<T>(read: Result<T, Problem>) -> Vec<String> {
    match read {
        Ok(_) => Vec::new(),
        Err(Problem::Invalid(faults)) => faults,
        Err(other) => panic!("{other}"),
    }
}

fn mower(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut body = json!({
        "name": "a", "vendor": "b", "model": "c", "serial": "d",
        "connection": {"kind": "local", "options": {"host": "10.0.0.7"}},
    });
    change(&mut body);
    faults(NewMower::read(body.to_string().as_bytes()))
}

#[test]
fn a_mower_needs_its_fields_and_no_others() {
    assert_eq!(mower(|_| {}), [""; 0]);
    assert_eq!(
        mower(|body| *body = json!({"serial": "x".repeat(65), "color": "red", "site_id": 7})),
        [
            "`name` is required",
            "`vendor` is required",
            "`model` is required",
            "`serial` must have 1 to 64 characters, not 65",
            "`connection` is required",
            "`site_id` must be a UUID",
            "unknown field `color`",
        ]
    );
    let kind = "`connection.kind` must be one of `simulated`, `cloud`, `ble_bridge`, `local`";
    assert_eq!(
        mower(|body| body["connection"] = json!({"kind": "wire"})),
        [kind]
    );
    assert_eq!(
        mower(|body| body["connection"]["port"] = json!(1)),
        ["unknown field `connection.port`"]
    );
}

#[test]
fn options_of_a_simulated_mower_are_those_of_its_adapter() {
    let simulated = |options: Value| {
        mower(|body| body["connection"] = json!({"kind": "simulated", "options": options}))
    };
    assert_eq!(simulated(json!({})), [""; 0]);
    let budget = json!({"vendor_account": "a", "width_m": 30});
    assert_eq!(simulated(budget), [""; 0]);
    let wide = simulated(json!({"width": 30, "battery_percent": "full"}));
    assert_eq!(wide.len(), 2, "{wide:?}");
    assert!(wide[0].starts_with("`connection.options.battery_percent` is not possible"));
    assert!(wide[1].starts_with("`connection.options.width` is not possible"));
    let narrow = "`connection.options.width_m` must be from 3 to 1000, not 2";
    assert_eq!(simulated(json!({"width_m": 2})), [narrow]);
    let body = json!({"connection": {"kind": "simulated", "options": {"width_m": 2}}});
    let changed = faults(MowerFields::read(body.to_string().as_bytes()));
    assert_eq!(changed, [narrow]);
}

#[test]
fn options_hold_no_secrets_and_are_small() {
    for options in [
        json!({"password": "x"}),
        json!({"cloud": {"Access_Token": "x"}}),
        json!({"list": [{"apiKey": "x"}]}),
        json!({"client_secret_id": 1}),
    ] {
        let found = mower(|body| body["connection"]["options"] = options.clone());
        assert_eq!(found.len(), 1, "{options}: {found:?}");
        assert!(found[0].contains("looks like a secret"), "{found:?}");
        assert!(
            found[0].contains("configuration of the device gateway"),
            "{found:?}"
        );
    }
    let nested = mower(|body| body["connection"]["options"] = json!({"list": [{"apiKey": "x"}]}));
    assert!(
        nested[0].starts_with("`connection.options.list[0].apiKey`"),
        "{nested:?}"
    );
    let exact = "x".repeat(4096 - r#"{"a":""}"#.len());
    assert_eq!(
        mower(|body| body["connection"]["options"] = json!({"a": exact})),
        [""; 0]
    );
    let more = mower(|body| body["connection"]["options"] = json!({"a": format!("{exact}x")}));
    assert_eq!(
        more,
        ["`connection.options` must have at most 4096 bytes as JSON, not 4097"]
    );
}

fn site(body: Value, new: bool) -> Vec<String> {
    faults(SiteFields::read(body.to_string().as_bytes(), new))
}

#[test]
fn a_site_lies_somewhere_and_keeps_its_hours() {
    assert_eq!(site(json!({}), false), [""; 0]);
    assert_eq!(
        site(json!({}), true),
        ["`name` is required", "`time_zone` is required"]
    );
    let zone = "`time_zone` must be a name of the IANA time zone database, such as `Europe/Berlin`";
    assert_eq!(site(json!({"time_zone": "Berlin"}), false), [zone]);
    assert_eq!(
        site(json!({"latitude": 91, "longitude": "x"}), false),
        [
            "`latitude` must be a number from -90 to 90",
            "`longitude` must be a number from -180 to 180",
        ]
    );
    let hours = |from: &str, to: &str, days: Value| {
        site(
            json!({"quiet_hours": [{"from": from, "to": to, "days": days}]}),
            false,
        )
    };
    assert_eq!(hours("20:00", "07:00", json!(["mon", "sun"])), [""; 0]);
    assert_eq!(hours("00:00", "23:59", json!(["mon"])), [""; 0]);
    for (from, to, days) in [
        ("24:00", "07:00", json!(["mon"])),
        ("7:00", "08:00", json!(["mon"])),
        ("07:60", "08:00", json!(["mon"])),
        ("07:00", "07:00", json!(["mon"])),
        ("20:00", "07:00", json!([])),
        ("20:00", "07:00", json!(["mon", "mon"])),
        ("20:00", "07:00", json!(["monday"])),
    ] {
        assert_eq!(hours(from, to, days.clone()).len(), 1, "{from} {to} {days}");
    }
}

#[test]
fn the_other_bodies() {
    let group = |body: Value| faults(NewGroup::read(body.to_string().as_bytes()));
    assert_eq!(group(json!({"name": "North"})), [""; 0]);
    assert_eq!(
        group(json!({"site_id": null})),
        ["`name` is required", "`site_id` must be a UUID"]
    );
    let place = |body: Value| faults(Placement::read(body.to_string().as_bytes()));
    assert_eq!(place(json!({})), ["`site_id` is required"]);
    let fields = MowerFields::read(b"{}").unwrap();
    assert_eq!(fields, MowerFields::default());
    let account = |body: Value| faults(NewAccount::read(body.to_string().as_bytes(), true));
    assert_eq!(
        account(json!({"id": "a b", "name": "A", "features": ["x", "x"], "time_zone": "UTC"})),
        [
            "`id` must be of `A-Z a-z 0-9 . _ : -`, first a letter or digit",
            "`features` must be an array of different words",
        ]
    );
    let event = json!({"id": "a", "name": "A", "time_zone": "UTC", "plan": "pro"});
    assert_eq!(account(event.clone()), ["unknown field `plan`"]);
    let open = NewAccount::read(event.to_string().as_bytes(), false).unwrap();
    assert_eq!(open.features, [""; 0]);
}
