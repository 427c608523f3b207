//! Which path templates can be mistaken for each other.

use crate::compile::fault::Law;
use crate::compile::reader::Located;
use crate::compile::template::Template;

/// Reads a template; parameters that begin with `t` are texts.
fn template(path: &str) -> Template {
    let text_params: Vec<Located<String>> = path
        .split('/')
        .filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'))
        .filter(|name| name.starts_with('t'))
        .map(|name| Located {
            value: name.to_owned(),
            line: 1,
        })
        .collect();
    Template::parse(path, &text_params).expect("a template")
}

fn check(a: &str, b: &str, same_shape: bool, overlaps: bool) {
    for (a, b) in [(template(a), template(b)), (template(b), template(a))] {
        assert_eq!(a.same_shape(&b), same_shape, "{a:?} {b:?}");
        assert_eq!(a.overlaps(&b), overlaps, "{a:?} {b:?}");
    }
}

#[test]
fn templates_that_can_be_mistaken() {
    check("/a", "/a", true, true);
    check("/a", "/b", false, false);
    check("/a", "/a/b", false, false);
    check("/a/{x}", "/a/{y}", true, true);
    check("/a/{x}", "/a/b", false, false);
    check(
        "/a/{x}",
        "/a/abcdefab-0000-4000-8000-000000000000",
        false,
        true,
    );
    check("/a/{tx}", "/a/{ty}", true, true);
    check("/a/{tx}", "/a/b", false, true);
    check("/a/{tx}", "/a/{x}", false, true);
    check("/a/{x}/c", "/a/{y}/d", false, false);
    check("/{tx}/c", "/a/{ty}", false, true);
}

#[test]
fn paths_have_one_form() {
    for path in [
        "", "a", "/", "//", "/a/", "/a//b", "/A", "/a b", "/a/..", "/{}", "/{X}", "/{x}/{x}",
        "/a{x}", "/%61",
    ] {
        let (line, law, _) = Template::parse(path, &[]).expect_err(path);
        assert_eq!((line, law), (None, Law::PathForm), "{path}");
    }
}
