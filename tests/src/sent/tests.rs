use super::Sent;

const TWO: &str = "POST /a?b=c HTTP/1.1\r\nhost: x\r\ninterlock-grant: g\r\ncontent-length: 2\r\n\r\n{}GET /d HTTP/1.1\r\nHost: x\r\n\r\n";

#[test]
fn requests_are_told_apart() {
    let all = Sent::all(TWO.as_bytes());
    let [first, second] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!((&*first.method, &*first.target), ("POST", "/a?b=c"));
    assert_eq!((first.grant(), &first.body[..]), ("g", &b"{}"[..]));
    assert_eq!((&*second.method, second.values("host")), ("GET", vec!["x"]));
    assert_eq!([&first.bytes[..], &second.bytes].concat(), TWO.as_bytes());
}

#[test]
fn a_request_that_breaks_off_is_none() {
    let broken = std::panic::catch_unwind(|| Sent::all(&TWO.as_bytes()[..73]));
    let told = broken.expect_err("a request that breaks off");
    let told = told.downcast_ref::<&str>();
    assert_eq!(told, Some(&"the body breaks off"));
}
