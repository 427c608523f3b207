use super::parse;

#[test]
fn reads_what_the_script_writes() {
    let (seen, errors) = parse("Running 1s test\nSEEN 1200 1000000 970 2600 3\n").unwrap();
    assert_eq!((seen.requests, errors), (1200, 3));
    assert_eq!((seen.seconds, seen.p50_ms, seen.p99_ms), (1.0, 0.97, 2.6));
    assert!(parse("SEEN 1 2\n").is_none());
    assert!(parse("").is_none());
}
