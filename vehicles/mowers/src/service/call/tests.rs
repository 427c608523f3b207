use super::Query;

fn check(query: &str, expected: &[(&str, &str)]) {
    let read = Query::read(query);
    let pairs: Vec<(&str, &str)> = read
        .0
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(pairs, expected, "{query}");
}

#[test]
fn a_query_is_read_as_forms_write_it() {
    check("", &[]);
    check("a=1&b=2", &[("a", "1"), ("b", "2")]);
    check("a", &[("a", "")]);
    check("a=%61%2Bb+c", &[("a", "a+b c")]);
    check("a=%zz%", &[("a", "%zz%")]);
    check("a=b=c", &[("a", "b=c")]);
}
