//! Calls the gateway on loopback, as any user could with curl.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Calls, with a bearer token where one is given, and waits for the whole answer.
pub(crate) async fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> io::Result<Answer> {
    let mut request =
        format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    if let Some(token) = token {
        request += &format!("authorization: Bearer {token}\r\n");
    }
    if let Some(body) = body {
        let body = body.to_string();
        let length = body.len();
        request +=
            &format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    } else {
        request += "\r\n";
    }
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        io::Result::Ok(answer)
    };
    let answer = timeout(PATIENCE, exchange)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    read(&answer).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Status and body. The gateway buffers what it answers here, so the body is
/// everything after the head; one in chunks would not be JSON and is refused.
fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding");
    let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?;
    (!chunked).then_some(Answer {
        status: status.parse().ok()?,
        body: body.to_owned(),
    })
}
