//! Servers of the harness, each on a thread of its own.
//!
//! So a test may block, on a process or a file, without stalling the server
//! that the process under test is talking to.

use std::thread::JoinHandle;

use tokio::sync::oneshot;

/// A task that runs until this value is dropped; so do the tasks it spawned.
#[derive(Debug)]
pub struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Runs `task` on a runtime of its own.
    pub fn run(name: &str, task: impl Future<Output = ()> + Send + 'static) -> Background {
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime starts");
                runtime.block_on(async {
                    tokio::select! {
                        () = task => {}
                        _ = stopped => {}
                    }
                });
            })
            .expect("a thread starts");
        Background {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Gone already when the task ended by itself.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            eprintln!("a server of the harness panicked; see above");
        }
    }
}
