//! The little Markdown that the documents need.

/// A table; cells are escaped, columns are not padded.
pub(super) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = line(&mut head.iter().map(ToString::to_string));
    out.push_str(&line(&mut head.iter().map(|_| "---".to_owned())));
    for row in rows {
        out.push_str(&line(&mut row.into_iter()));
    }
    out
}

/// Text as code.
pub(super) fn code(text: impl std::fmt::Display) -> String {
    format!("`{text}`")
}
