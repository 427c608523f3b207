//! The canonical path: the one form both matched and forwarded.

/// The longest path, in bytes. The longest row with its ids is far below.
pub const PATH_BYTES: usize = 1024;

/// Why a path has no canonical form.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PathError {
    /// Empty, or without a leading slash (`*`, an authority).
    #[error("the path must start with `/`")]
    NoSlash,
    /// Longer than [`PATH_BYTES`].
    #[error("the path is {0} bytes long; at most {PATH_BYTES} are accepted")]
    Long(usize),
    /// `//`, or a slash at the end.
    #[error("the path has an empty segment; write single slashes and none at the end")]
    EmptySegment,
    /// `.` or `..`.
    #[error("the path has a dot segment; send the path it stands for")]
    DotSegment,
    /// A percent sign. Every path of the surface is made of characters that
    /// need no encoding, so an encoded one could only be a second spelling.
    #[error("the path is percent-encoded; no path here needs it, send the plain characters")]
    Encoded,
    /// A character outside RFC 3986 `pchar`, or `;` (path parameters, which
    /// some servers cut off).
    #[error("the path has a character that is not accepted: byte 0x{0:02x}")]
    Character(u8),
}

/// The path itself, when it is canonical. Nothing is repaired, so the function
/// is idempotent by construction.
///
/// # Errors
/// [`PathError`] names the rule that was broken.
pub fn canonical(path: &str) -> Result<&str, PathError> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err(PathError::NoSlash);
    };
    if path.len() > PATH_BYTES {
        return Err(PathError::Long(path.len()));
    }
    if let Some(byte) = path.bytes().find(|byte| !accepted(*byte)) {
        return Err(match byte {
            b'%' => PathError::Encoded,
            other => PathError::Character(other),
        });
    }
    // `/` alone is one canonical path; it matches no row and ends as 404.
    if rest.is_empty() {
        return Ok(path);
    }
    for segment in rest.split('/') {
        match segment {
            "" => return Err(PathError::EmptySegment),
            "." | ".." => return Err(PathError::DotSegment),
            _ => {}
        }
    }
    Ok(path)
}

/// RFC 3986 `pchar` and `/`, without percent-encoding and `;`.
fn accepted(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,=:@/".contains(&byte)
}

#[cfg(test)]
mod tests;
