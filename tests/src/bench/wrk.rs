//! Load from wrk, one thread, many connections.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// Connections that are open at once.
pub(super) const CONNECTIONS: u32 = 64;

/// What is asked for, again and again.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// Writes go to one after the other; reads to the first alone.
    pub(super) paths: Vec<String>,
    pub(super) headers: Vec<(&'static str, String)>,
    /// For a write: its body, and what its idempotency keys begin with. Every
    /// request has a key of its own.
    pub(super) write: Option<(String, String)>,
}

/// What wrk saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) requests: u64,
    pub(super) seconds: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// Asks `address` for `seconds`.
///
/// # Panics
/// When a single answer was not a good one: a proxy that refuses is cheap.
pub(super) fn run(address: SocketAddr, ask: &Ask, seconds: u32, folder: &Path) -> Seen {
    let first = ask.paths.first().expect("something to ask for");
    let script = folder.join("wrk.lua");
    fs::write(&script, lua(ask)).expect("a folder of ours");
    let output = Command::new("wrk")
        .args(["--threads", "1"])
        .args(["--connections", &CONNECTIONS.to_string()])
        .args(["--duration", &format!("{seconds}s")])
        .arg("--script")
        .arg(&script)
        .arg(format!("http://{address}{first}"))
        .output()
        .expect("wrk is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let seen = parse(&text);
    let (seen, errors) = seen.unwrap_or_else(|| {
        panic!(
            "wrk says nothing: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert_eq!(errors, 0, "{errors} bad answers from {address}{first}");
    assert!(seen.requests > 0, "no answer from {address}{first}");
    seen
}

fn lua(ask: &Ask) -> String {
    let mut script = String::new();
    for (name, value) in &ask.headers {
        script += &format!("wrk.headers[{name:?}] = {value:?}\n");
    }
    if let Some((body, prefix)) = &ask.write {
        let paths: Vec<String> = ask.paths.iter().map(|path| format!("{path:?}")).collect();
        let paths = paths.join(",");
        script += &format!(
            r#"wrk.method = "POST"
wrk.body = {body:?}
wrk.headers["Content-Type"] = "application/json"
local paths = {{ {paths} }}
local count = 0
function request()
    count = count + 1
    wrk.headers["Idempotency-Key"] = {prefix:?} .. count
    return wrk.format(nil, paths[count % #paths + 1])
end
"#
        );
    }
    script
        + r#"function done(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format("SEEN %d %d %d %d %d\n",
        summary.requests, summary.duration,
        latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"#
}

/// The line of the script above: requests, then microseconds, then errors.
fn parse(text: &str) -> Option<(Seen, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("SEEN "))?;
    let numbers: Vec<u64> = line
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let [requests, duration, p50, p99, errors] = numbers[..] else {
        return None;
    };
    let seen = Seen {
        requests,
        seconds: duration as f64 / 1e6,
        p50_ms: p50 as f64 / 1e3,
        p99_ms: p99 as f64 / 1e3,
    };
    Some((seen, errors))
}

#[cfg(test)]
mod tests;
