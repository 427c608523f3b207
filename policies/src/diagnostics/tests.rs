use super::{Check, Diagnostic, Diagnostics};
use crate::bundle::tests::overlay::Overlay;

/// Loads the bundle with one more guard and returns what is said about it.
fn faults(guard: &str) -> Diagnostics {
    let overlay = Overlay::new();
    overlay.write("guards/90-more.cedar", guard);
    overlay.load().unwrap_err()
}

const ON_EVERY_WRITE: &str = "@id(\"guard.more\")
forbid (principal, action in [Action::\"plan_propose\", Action::\"mission_start\"], resource)
when { context.ttl > 5 };
";

#[test]
fn one_mistake_is_one_fault_with_a_count() {
    let faults = faults(ON_EVERY_WRITE);
    let all: Vec<&Diagnostic> = faults.iter().collect();
    let [fault] = all[..] else { panic!("{faults}") };
    assert_eq!(fault.check, Check::UnknownAttribute);
    assert_eq!((fault.line, fault.column), (Some(3), Some(8)));
    assert_eq!(fault.count, 2, "start and propose");
}

#[test]
fn a_fault_reads_like_a_compiler_message() {
    let expected = "\
guards/90-more.cedar:3:8: unknown-attribute: attribute `ttl` in context for \
Action::\"mission_start\" not found (2 actions)
    when { context.ttl > 5 };
           ^
    help: did you mean `ttl_ms`?";
    assert_eq!(faults(ON_EVERY_WRITE).to_string(), expected);
}

#[test]
fn a_fault_is_json_too() {
    let json = serde_json::to_value(faults(ON_EVERY_WRITE)).unwrap();
    assert_eq!(json[0]["check"], "unknown-attribute");
    assert_eq!(json[0]["file"], "guards/90-more.cedar");
    assert_eq!(json[0]["line"], 3);
    assert_eq!(json[0]["policy"], "guard.more");
    assert_eq!(json[0]["help"], "did you mean `ttl_ms`?");
    assert_eq!(json[0]["source"], "when { context.ttl > 5 };");
}

#[test]
fn the_names_of_checks_are_those_of_their_json() {
    for check in Check::ALL {
        let json = serde_json::to_value(check).unwrap();
        assert_eq!(json, check.as_str());
    }
}

#[test]
fn faults_of_all_files_are_reported_together_in_order() {
    let overlay = Overlay::new();
    overlay
        .write("permits/90-more.cedar", "permit (")
        .write("guards/90-more.cedar", "forbid )");
    let faults = overlay.load().unwrap_err();
    let files: Vec<&str> = faults.iter().filter_map(|f| f.file.as_deref()).collect();
    assert_eq!(files, ["guards/90-more.cedar", "permits/90-more.cedar"]);
}

#[test]
fn places_count_characters_and_survive_any_offset() {
    let text = "é\nßx\n";
    let place = |offset| {
        let fault = Diagnostic::new(Check::Files, "").offset(text, offset);
        (fault.line.unwrap(), fault.column.unwrap())
    };
    assert_eq!(place(0), (1, 1));
    assert_eq!(place(3), (2, 1));
    assert_eq!(place(5), (2, 2));
    // Inside a character, at the end, and beyond it.
    for offset in [1, 4, text.len(), 99] {
        place(offset);
    }
}

#[test]
fn equal_faults_without_a_place_are_one() {
    let fault = |message: &str| Diagnostic::new(Check::Surface, message);
    let all = Diagnostics::group(vec![fault("a"), fault("b"), fault("a")]);
    let counts: Vec<usize> = all.iter().map(|fault| fault.count).collect();
    assert_eq!(counts, [2, 1]);
}
