//! Bytes as a hostile client sends them: raw TCP, no client library between
//! the test and the parser under test.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::poll;

/// One connection.
#[derive(Debug)]
pub struct Wire {
    stream: BufReader<TcpStream>,
}

/// An answer as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    /// The status code.
    pub status: u16,
    /// Names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body, unchunked.
    pub body: Vec<u8>,
}

impl Raw {
    /// The first header of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(key, value)| (key == name).then_some(value.as_str()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Wire {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Wire {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream
            .set_read_timeout(Some(poll::SOCKET))
            .expect("a timeout above zero");
        stream.set_nodelay(true).expect("a socket option");
        Wire {
            stream: BufReader::new(stream),
        }
    }

    /// Sends bytes as they are. A server that closed before it read all is
    /// within its rights; what it answered is read with [`Wire::answer`].
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        match self.stream.get_mut().write_all(bytes.as_ref()) {
            Ok(()) => {}
            Err(cause) if closed(cause.kind()) => {}
            Err(cause) => panic!("cannot send: {cause}"),
        }
    }

    /// Closes our half: no more bytes come.
    pub fn finish(&mut self) {
        // The server may have closed the whole connection already.
        drop(self.stream.get_ref().shutdown(Shutdown::Write));
    }

    /// Reads one answer, or `None` when the server closed without one.
    ///
    /// # Panics
    /// On an answer that is not HTTP/1.1, and on silence.
    pub fn answer(&mut self) -> Option<Raw> {
        self.answer_to("GET")
    }

    /// [`Wire::answer`] to a request with that method: one to `HEAD` has no
    /// body whatever its headers say (RFC 9112 section 6.3).
    pub fn answer_to(&mut self, method: &str) -> Option<Raw> {
        let start = self.line()?;
        let mut words = start.split(' ');
        assert_eq!(words.next(), Some("HTTP/1.1"), "no HTTP/1.1: `{start}`");
        let status: u16 = words
            .next()
            .and_then(|code| code.parse().ok())
            .expect("a status code");
        let mut headers = Vec::new();
        loop {
            let line = self.line().expect("headers end with an empty line");
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').expect("a header has a colon");
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut raw = Raw {
            status,
            headers,
            body: Vec::new(),
        };
        let empty = method == "HEAD" || status < 200 || status == 204 || status == 304;
        if !empty {
            raw.body = self.body(&raw);
        }
        Some(raw)
    }

    /// Whether the server has closed the connection, waiting for it to say.
    ///
    /// # Panics
    /// On bytes that nobody asked for, and on silence.
    pub fn closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(0) => true,
            Ok(_) => panic!("unasked bytes: {}", String::from_utf8_lossy(&rest)),
            Err(cause) if closed(cause.kind()) => true,
            Err(cause) => panic!("still open: {cause}"),
        }
    }

    fn body(&mut self, raw: &Raw) -> Vec<u8> {
        let mut body = Vec::new();
        if raw.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = self.line().expect("a chunk has a size");
                let size = usize::from_str_radix(size.trim(), 16).expect("a size in hex");
                let start = body.len();
                body.resize(start + size, 0);
                self.stream
                    .read_exact(&mut body[start..])
                    .expect("a whole chunk");
                self.line().expect("a chunk ends its line");
                if size == 0 {
                    return body;
                }
            }
        }
        match raw.header("content-length") {
            Some(length) => {
                body.resize(length.parse().expect("a length"), 0);
                self.stream.read_exact(&mut body).expect("a whole body");
            }
            None => {
                self.stream
                    .read_to_end(&mut body)
                    .expect("a body to the end");
            }
        }
        body
    }

    /// One line without its end, or `None` where the server closed.
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => {
                let line = String::from_utf8_lossy(&line);
                Some(line.trim_end_matches(['\r', '\n']).to_owned())
            }
            Err(cause) if closed(cause.kind()) => None,
            Err(cause) => panic!("cannot read an answer: {cause}"),
        }
    }
}

fn closed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests;
