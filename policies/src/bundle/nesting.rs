//! A bound on nesting, before anything is parsed.
//!
//! Cedar's parser, validator and the very dropping of an expression recurse,
//! and a stack overflow is no error: it ends the process. Parentheses 36 deep
//! are enough on a thread of 2 MiB in a debug build. So nesting is bounded in
//! the text, with a margin of ten against the stack that bundles are loaded on,
//! and so is the length of a statement, which bounds chains without brackets
//! (`a.b.c`, `x + y + z`, `if … then if …`).

use super::files::{Files, SCHEMA};
use crate::diagnostics::{Check, Diagnostic};

/// The stack on which bundles are loaded, in bytes. Only what is used of it is
/// ever committed.
pub(super) const LOADING_STACK: usize = 64 << 20;

/// How deep brackets and `if`s together may nest. No readable policy comes
/// near; the validator's work doubles with every `if` inside another.
pub(super) const MAX_DEPTH: usize = 24;

/// How long one policy or declaration may be, in bytes.
pub(super) const MAX_STATEMENT: usize = 4 << 10;

/// How many dots one policy or declaration may have: `x has a.b.c` is read as
/// one test for every dot, each as long as its place.
pub(super) const MAX_DOTS: usize = 128;

pub(super) fn check(files: &Files) -> Result<(), Vec<Diagnostic>> {
    let fault = |(file, text): (&str, &str)| {
        let (what, offset) = too_much(text, file.starts_with(SCHEMA))?;
        let fault = Diagnostic::new(Check::Nesting, what).file(file);
        Some(fault.offset(text, offset))
    };
    let all = files.schemas().chain(files.policies());
    let faults: Vec<Diagnostic> = all.filter_map(fault).collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

/// What the reader of the text is inside of.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Code,
    Text,
    Comment,
}

/// What exceeds a bound, and at which byte.
fn too_much(text: &str, schema: bool) -> Option<(String, usize)> {
    let mut inside = Inside::Code;
    let (mut depth, mut dots, mut start) = (0_usize, 0, 0);
    let mut ifs = 0_usize;
    let mut word = String::new();
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let next = bytes.peek().map(|(_, byte)| *byte);
        inside = match (inside, byte) {
            (Inside::Code, b'"') => Inside::Text,
            (Inside::Code, b'/') if next == Some(b'/') => Inside::Comment,
            (Inside::Text, b'"') | (Inside::Comment, b'\n' | b'\r') => Inside::Code,
            (Inside::Text, b'\\') => {
                bytes.next();
                Inside::Text
            }
            (inside, _) => inside,
        };
        if inside == Inside::Code {
            if byte.is_ascii_alphanumeric() || byte == b'_' {
                word.push(char::from(byte));
            } else {
                ifs += usize::from(word == "if");
                word.clear();
            }
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b'<' if schema => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'>' if schema => depth = depth.saturating_sub(1),
                // A new statement; brackets left open are the parser's to say.
                b';' => (depth, ifs, dots, start) = (0, 0, 0, at + 1),
                b'.' => dots += 1,
                _ => {}
            }
        }
        if depth + ifs > MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} brackets and `if`s");
            return Some((what, at));
        }
        if dots > MAX_DOTS {
            return Some((
                format!("a single statement with more than {MAX_DOTS} dots"),
                at,
            ));
        }
        if at.saturating_sub(start) > MAX_STATEMENT && inside != Inside::Comment {
            let what = format!("a single statement of more than {MAX_STATEMENT} bytes");
            return Some((what, start));
        }
    }
    None
}
