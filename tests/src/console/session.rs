//! One shell, to which commands are given one by one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::poll;

/// Ends the output of a command; no command prints it.
const MARK: &str = "\u{1}end-of-command";

/// A running `bash`.
pub(super) struct Session {
    shell: Child,
    lines: Receiver<String>,
}

impl Session {
    pub(super) fn start(folder: &Path) -> Session {
        let mut shell = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bash is installed");
        let output = shell.stdout.take().expect("the output is a pipe");
        let (sender, lines) = channel();
        // Reads on its own thread, so that a command that hangs fails the test.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut session = Session { shell, lines };
        session.send("exec 2>&1\n");
        session
    }

    /// Runs a command; returns its exit status and what it printed.
    pub(super) fn run(&mut self, command: &str) -> (i32, String) {
        self.send(&format!(
            "{{ {command}\n}} </dev/null\nprintf '\\n{MARK} %s\\n' $?\n"
        ));
        let mut printed = String::new();
        loop {
            let line = self
                .lines
                .recv_timeout(poll::SOCKET)
                .unwrap_or_else(|cause| panic!("`{command}`: {cause}; printed so far:\n{printed}"));
            if let Some(status) = line.strip_prefix(MARK) {
                return (status.trim().parse().expect("a status"), printed);
            }
            printed += &line;
            printed += "\n";
        }
    }

    fn send(&mut self, text: &str) {
        let input = self.shell.stdin.as_mut().expect("the input is a pipe");
        input.write_all(text.as_bytes()).expect("the shell reads");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A shell that has ended cannot be killed, which is all right.
        if self.shell.kill().is_ok() && self.shell.wait().is_err() {
            eprintln!("a shell was killed but cannot be waited for");
        }
    }
}
