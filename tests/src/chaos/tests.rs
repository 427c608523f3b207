use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::{Chaos, Line};
use crate::poll;
use crate::ports;

/// An echo server, and a connection to it through a relay.
fn pair() -> (Chaos, TcpStream) {
    let listener: TcpListener = ports::listener();
    let chaos = Chaos::to(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 64];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..length]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let stream = TcpStream::connect(chaos.address()).unwrap();
    stream.set_read_timeout(Some(poll::SOCKET)).unwrap();
    (chaos, stream)
}

fn echo(stream: &mut TcpStream, text: &str) -> std::io::Result<String> {
    stream.write_all(text.as_bytes())?;
    let mut buffer = vec![0; text.len()];
    stream.read_exact(&mut buffer)?;
    Ok(String::from_utf8(buffer).unwrap())
}

#[test]
fn passes_and_counts() {
    let (chaos, mut stream) = pair();
    assert_eq!(echo(&mut stream, "hello").unwrap(), "hello");
    assert_eq!((chaos.accepted(), chaos.bytes_to_target()), (1, 5));
}

#[test]
fn hangs_and_goes_on() {
    let (chaos, mut stream) = pair();
    assert_eq!(echo(&mut stream, "before").unwrap(), "before");
    chaos.set(Line::Hung);
    stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let silence = echo(&mut stream, "hung").unwrap_err().kind();
    assert!(matches!(
        silence,
        ErrorKind::WouldBlock | ErrorKind::TimedOut
    ));
    chaos.set(Line::Up);
    stream.set_read_timeout(Some(poll::SOCKET)).unwrap();
    let mut late = [0; 4];
    stream.read_exact(&mut late).unwrap();
    assert_eq!(&late, b"hung");
}

#[test]
fn cuts_open_and_new_connections() {
    let (chaos, mut stream) = pair();
    assert_eq!(echo(&mut stream, "before").unwrap(), "before");
    chaos.set(Line::Cut);
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    let mut second = TcpStream::connect(chaos.address()).unwrap();
    assert_eq!(second.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn resets_open_and_new_connections() {
    let (chaos, mut stream) = pair();
    assert_eq!(echo(&mut stream, "before").unwrap(), "before");
    chaos.set(Line::Reset);
    let fault = stream.read(&mut [0; 1]).unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::ConnectionReset);
    let mut second = TcpStream::connect(chaos.address()).unwrap();
    let fault = second.read(&mut [0; 1]).unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::ConnectionReset);
}
