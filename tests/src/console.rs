//! Runs the console blocks of a document, so that what it shows is true.
//!
//! A block fenced with `console` holds commands after `$ ` and, below each, the
//! lines it prints. A command goes on in the next line where that is indented
//! by four spaces. In the expected output `...` stands for any text within a
//! line, and for any number of lines where it stands alone. A command that is
//! shown to print nothing must succeed; any other is judged by what it prints.
//! All blocks of a document run in one shell, one after the other, so variables
//! carry over.

mod session;

use session::Session;

/// One command of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the document that it begins on, from one.
    pub line: usize,
    /// What is typed.
    pub command: String,
    /// What is shown.
    pub expected: Vec<String>,
}

/// The commands of every console block.
///
/// # Panics
/// On a block without a command or an end: nothing would be checked.
pub fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut open = None;
    let mut typing = false;
    for (index, text) in document.lines().enumerate() {
        let line = index + 1;
        match (open, text.strip_prefix("```")) {
            (None, Some("console")) => open = Some((line, steps.len())),
            (None, _) => {}
            (Some((began, before)), Some(_)) => {
                assert!(
                    steps.len() > before,
                    "line {began}: a console block without a command"
                );
                open = None;
            }
            (Some((began, before)), None) => {
                let current = steps.get_mut(before..).and_then(<[Step]>::last_mut);
                typing = match (text.strip_prefix("$ "), current) {
                    (Some(command), _) => {
                        steps.push(Step {
                            line,
                            command: command.to_owned(),
                            expected: Vec::new(),
                        });
                        true
                    }
                    (None, Some(step)) if typing && text.starts_with("    ") => {
                        step.command += "\n";
                        step.command += text;
                        true
                    }
                    (None, Some(step)) => {
                        step.expected.push(text.to_owned());
                        false
                    }
                    (None, None) => panic!("line {began}: a console block begins with `$ `"),
                };
            }
        }
    }
    assert!(open.is_none(), "a console block without an end");
    steps
}

/// Runs the steps in one shell at `folder` and compares what they print, after
/// every `(from, to)` of `substitutions` was applied to commands and
/// expectations.
///
/// # Errors
/// The first step that fails or prints something else, in words.
pub fn run(
    steps: &[Step],
    folder: &std::path::Path,
    substitutions: &[(&str, &str)],
) -> Result<(), String> {
    let replace = |text: &str| {
        substitutions
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let mut session = Session::start(folder);
    for step in steps {
        let command = replace(&step.command);
        let expected: Vec<String> = step.expected.iter().map(|line| replace(line)).collect();
        let (status, printed) = session.run(&command);
        let actual: Vec<&str> = printed.trim_end_matches('\n').lines().collect();
        let wanted: Vec<&str> = expected.iter().map(String::as_str).collect();
        let failed = status != 0 && wanted.is_empty();
        if failed || !matches(&wanted, &actual) {
            return Err(format!(
                "line {}: `{command}` ended with {status}\n--- the document shows\n{}\n--- it printed\n{}",
                step.line,
                wanted.join("\n"),
                actual.join("\n"),
            ));
        }
    }
    Ok(())
}

/// Whether lines are as expected.
fn matches(expected: &[&str], actual: &[&str]) -> bool {
    match (expected.split_first(), actual.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((&"...", rest)), after) => {
            matches(rest, actual) || after.is_some_and(|(_, after)| matches(expected, after))
        }
        (Some(_), None) => false,
        (Some((wanted, rest)), Some((line, after))) => {
            matches_line(wanted, line) && matches(rest, after)
        }
    }
}

/// Whether a line is as expected, `...` standing for any text.
fn matches_line(expected: &str, actual: &str) -> bool {
    match expected.split_once("...") {
        None => expected == actual,
        Some((start, rest)) => actual.strip_prefix(start).is_some_and(|actual| {
            let ends = actual.char_indices().map(|(index, _)| index);
            ends.chain([actual.len()])
                .any(|index| matches_line(rest, &actual[index..]))
        }),
    }
}

#[cfg(test)]
mod tests;
