use super::{Params, ParamsError};
use crate::row;
use crate::terms::ParamKind;

const ID: &str = "0190b3c4-0000-7000-8000-00000000000a";

fn check(name: &str, values: &[(&str, &str)], expected: Result<&str, ParamsError>) {
    let row = row(name).expect("a row");
    let rendered = Params::of(row, values).and_then(|params| params.render(row));
    assert_eq!(rendered, expected.map(str::to_owned));
}

#[test]
fn a_path_is_built_from_the_template() {
    check("drones.mission.start", &[], Ok("/api/missions"));
    let abort = format!("/api/missions/{ID}/abort");
    check(
        "drones.mission.abort",
        &[("mission", &ID.to_uppercase())],
        Ok(&abort),
    );
    let put = [("id", "swarm-1"), ("type", "Swarm"), ("other", "/..")];
    check(
        "ops.registry.put",
        &put,
        Ok("/registry/objects/Swarm/swarm-1"),
    );
}

#[test]
fn a_missing_value_is_named() {
    let missing = ParamsError::Missing {
        row: "drones.mission.get",
        param: "mission",
    };
    assert_eq!(
        missing.to_string(),
        "the path of row `drones.mission.get` needs the parameter `mission`, which was not given"
    );
    check("drones.mission.get", &[("plan", ID)], Err(missing));
}

#[test]
fn a_value_cannot_leave_its_segment() {
    for value in ["..", "a/b", "", "a?b", "%2e%2e", "0190b3c4"] {
        let invalid = ParamsError::Invalid {
            row: "drones.mission.get",
            param: "mission",
            kind: ParamKind::Uuid,
            value: value.to_owned(),
        };
        check("drones.mission.get", &[("mission", value)], Err(invalid));
    }
    for value in ["..", "a/b", "", "a?b", "%2e%2e"] {
        let invalid = ParamsError::Invalid {
            row: "ops.registry.put",
            param: "id",
            kind: ParamKind::Text,
            value: value.to_owned(),
        };
        check(
            "ops.registry.put",
            &[("type", "Swarm"), ("id", value)],
            Err(invalid),
        );
    }
}

#[test]
fn parameters_of_one_row_do_not_render_another() {
    let mission = row("drones.mission.get").expect("a row");
    let plan = row("drones.plan.get").expect("a row");
    let params = Params::of(mission, &[("mission", ID)]).expect("good");
    assert_eq!(
        params.render(plan),
        Err(ParamsError::Missing {
            row: "drones.plan.get",
            param: "plan"
        })
    );
}
