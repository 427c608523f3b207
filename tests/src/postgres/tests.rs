use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::Postgres;
use crate::poll;

/// One server for all of these: making one takes a second.
#[test]
fn keeps_commits_over_a_kill_and_hangs_when_told_to() {
    let mut postgres = Postgres::start();
    postgres.query("create table notes (text text)");
    postgres.query("insert into notes values ('kept')");

    postgres.kill();
    assert!(TcpStream::connect(postgres.address()).is_err());
    postgres.restart();
    assert_eq!(postgres.query("select text from notes"), "kept");

    let mut connection = connect(&postgres);
    assert!(alive(&mut connection));
    postgres.hang();
    assert!(!alive(&mut connection), "also an open connection hangs");
    postgres.resume();
    connection
        .set_read_timeout(Some(poll::SOCKET))
        .expect("a timeout");
    let mut one = [0];
    connection.read_exact(&mut one).expect("the late answer");
    assert_eq!(postgres.query("select 1, 'two'"), "1|two");
}

#[test]
fn its_processes_end_with_it() {
    let mut postgres = Postgres::start();
    let processes = postgres.running().children();
    assert!(!processes.is_empty(), "it has helpers");
    postgres.hang();
    drop(postgres);
    poll::until("its processes are gone", || {
        let lives = |id: &u32| {
            let state = std::fs::read_to_string(format!("/proc/{id}/status"));
            state.is_ok_and(|state| !state.contains("State:\tZ"))
        };
        (!processes.iter().any(lives)).then_some(())
    });
}

/// A connection past its start, so that it has a process of its own.
fn connect(postgres: &Postgres) -> TcpStream {
    let mut stream = TcpStream::connect(postgres.address()).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a timeout");
    // PostgreSQL 15, 55.7: the startup message, protocol 3.0.
    let parameters = b"user\0interlock\0database\0postgres\0\0";
    let length = u32::try_from(8 + parameters.len()).expect("short");
    let mut startup = length.to_be_bytes().to_vec();
    startup.extend(196_608_u32.to_be_bytes());
    startup.extend(parameters);
    stream.write_all(&startup).expect("sent");
    drain(&mut stream);
    stream
}

/// Whether an empty query is answered.
fn alive(stream: &mut TcpStream) -> bool {
    stream.write_all(b"Q\0\0\0\x05\0").expect("sent");
    drain(stream) > 0
}

/// Reads until nothing comes for a while.
fn drain(stream: &mut TcpStream) -> usize {
    let mut buffer = [0; 4096];
    let mut total = 0;
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        total += count;
    }
    total
}
