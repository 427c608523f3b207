use std::io::{Read, Write};

use super::{Raw, Wire};
use crate::ports;

/// What is read of a server that says `bytes` and closes.
fn check(method: &str, bytes: &'static str, expected: Option<(u16, &str)>) {
    let listener = ports::listener();
    let mut wire = Wire::connect(listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 1]).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
    });
    wire.send("?");
    let answer: Option<Raw> = wire.answer_to(method);
    let seen = answer.as_ref().map(|raw| (raw.status, raw.text()));
    let seen = seen.as_ref().map(|(status, text)| (*status, text.as_str()));
    assert_eq!(seen, expected, "{bytes}");
    assert!(wire.closed());
    server.join().unwrap();
}

#[test]
fn reads_every_framing() {
    check(
        "GET",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        Some((200, "ok")),
    );
    check(
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1\r\n!\r\n0\r\n\r\n",
        Some((200, "ok!")),
    );
    check(
        "GET",
        "HTTP/1.1 400 Bad Request\r\n\r\nto the end",
        Some((400, "to the end")),
    );
    check(
        "HEAD",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n",
        Some((200, "")),
    );
    check("GET", "HTTP/1.1 204 No Content\r\n\r\n", Some((204, "")));
    check("GET", "", None);
}
