//! Requests as they went over a relay, byte for byte.

/// One request to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// `POST`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names as written, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Everything, as it was on the wire.
    pub bytes: Vec<u8>,
}

impl Sent {
    /// The requests in `bytes`, one after the other.
    ///
    /// # Panics
    /// On anything but whole requests that say the length of their body: the
    /// gateway never sends a service anything else.
    pub fn all(bytes: &[u8]) -> Vec<Sent> {
        let mut rest = bytes;
        let mut all = Vec::new();
        while !rest.is_empty() {
            let (sent, after) = Sent::first(rest);
            all.push(sent);
            rest = after;
        }
        all
    }

    fn first(bytes: &[u8]) -> (Sent, &[u8]) {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.expect("a head ends with an empty line") + 4;
        let head = std::str::from_utf8(&bytes[..end]).expect("a head is text");
        let mut lines = head.trim_end().split("\r\n");
        let start: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.1"] = start[..] else {
            panic!("no request line: {start:?}");
        };
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").expect("a header has a colon"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut sent = Sent {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body: Vec::new(),
            bytes: Vec::new(),
        };
        assert_eq!(sent.values("transfer-encoding"), Vec::<&str>::new());
        let length = match sent.values("content-length")[..] {
            [] => 0,
            [length] => length.parse().expect("a length"),
            ref several => panic!("several lengths: {several:?}"),
        };
        assert!(bytes.len() >= end + length, "the body breaks off");
        let (whole, after) = bytes.split_at(end + length);
        sent.body = whole[end..].to_vec();
        sent.bytes = whole.to_vec();
        (sent, after)
    }

    /// Every value of a header, its name in lower case.
    pub fn values(&self, name: &str) -> Vec<&str> {
        let named = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// The grant that came with it.
    ///
    /// # Panics
    /// When there is not exactly one.
    pub fn grant(&self) -> &str {
        let [grant] = self.values("interlock-grant")[..] else {
            panic!("not one grant: {:?}", self.headers);
        };
        grant
    }
}

#[cfg(test)]
mod tests;
