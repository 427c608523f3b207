use super::{Profile, ProfileName};
use crate::contract::{CommandKind, StopSemantics};

/// What a mower does when nobody says otherwise is within what it declares.
#[test]
fn a_profile_keeps_to_its_own_limits() {
    for name in ProfileName::ALL {
        assert_eq!(serde_json::json!(name), name.as_str());
        assert_eq!(ProfileName::named(name.as_str()), Some(name));
        let profile = Profile::named(name);
        let capabilities = &profile.capabilities;
        let within = |value: f64, (least, most): (f64, f64)| (least..=most).contains(&value);
        assert!(
            within(profile.speed_mps, capabilities.speed_mps),
            "{name:?}"
        );
        assert!(
            within(profile.spacing_m * 100.0, capabilities.spacing_cm),
            "{name:?}"
        );
        let (lowest, highest) = capabilities.blade_height_mm;
        assert!(
            (lowest..=highest).contains(&profile.blade_height_mm),
            "{name:?}"
        );
        assert!(
            profile.cutting_width_m >= profile.spacing_m,
            "{name:?} leaves stripes"
        );
        assert!(profile.border_laps <= 4);
    }
}

#[test]
fn every_mower_can_be_stopped_and_a_latch_can_be_reset() {
    for name in ProfileName::ALL {
        let capabilities = Profile::named(name).capabilities;
        assert!(
            capabilities.kinds.contains(&CommandKind::EmergencyStop),
            "{name:?}"
        );
        let latches = capabilities.stop_semantics != StopSemantics::Pause;
        let resets = capabilities.kinds.contains(&CommandKind::ResetEmergency);
        assert_eq!(latches, resets, "{name:?}");
    }
}

#[test]
fn names_are_those_of_the_configuration() {
    let names = serde_json::to_string(&ProfileName::ALL).unwrap();
    assert_eq!(names, r#"["luba","automower","landroid","openmower"]"#);
}
