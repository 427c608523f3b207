//! The report, as Markdown.

mod mowers;

use std::time::Duration;

use crate::bench::Effort;
use crate::bench::caller::Way;
use crate::bench::counted::Counted;
use crate::bench::dispatch::Flights;
use crate::bench::load::Measured;
use crate::bench::machine;
use crate::bench::stage::Stage;

// Why a goal is missed, for as long as it is: whoever changes that changes the
// words. They stand here so that they outlive the next writing of the report.

const READ_MISSED: &str = "A decision takes about 10 us and the grant 3: a third of the budget. \
    The rest goes into many small things: two HTTP parsers and two socket \
    writes as in nginx, threads that the kernel moves from core to core between them, a canonical \
    form, a hash-chained record of every read, the request checked against the schema, and the \
    allocations of each of these. One runtime per core, with connections of its own to the \
    services, saved 6 to 8 us in a sketch; it is not built.";

const WRITE_MISSED: &str = "To what a read costs a write adds a body that is parsed and written \
    canonically, its fingerprint, a task that outlives its caller, two records of which the first \
    is on disk before anything is sent, and two scripts at the store, whose client is a task of \
    its own that every step wakes and is woken by.";

const CALLER_MISSED: &str = "Alone, a call wakes a sleeping thread for each socket it waits on, \
    twice in the gateway, and pays decision, grant and both HTTP parsers one after the other.";

const REGISTRY_MISSED: &str = "The allocator rounds up what an object takes.";

/// A report that grows section by section.
#[derive(Debug)]
pub(super) struct Report {
    text: String,
}

impl Report {
    pub(super) fn new(effort: Effort) -> Report {
        let Effort { rounds, seconds } = effort;
        let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
        let nginx = machine::version("/usr/sbin/nginx", "-v");
        let text = format!(
            "# Benchmarks\n\n\
             Written by `cargo xtask bench --rounds {rounds} --seconds {seconds} --write` on {date}: \
             {}, {}, release build, everything on loopback.\n\n\
             The figure to trust is CPU per request: user and system time of the proxy's process \
             from `/proc/PID/stat`, divided by the requests it answered. Requests per second and \
             latency swing with the neighbors. Ratios are to nginx as a plain proxy in the same \
             round. Load comes from wrk with one thread and 64 connections; the upstream verifies \
             the grant of every request.\n",
            machine::describe(),
            nginx.trim_start_matches("nginx version: "),
        );
        Report { text }
    }

    pub(super) fn counted(&mut self, counted: Counted) {
        let Counted {
            sent,
            decided,
            verified,
        } = counted;
        self.section("One decision per request");
        self.line(&format!(
            "{sent} requests sent, {decided} decisions counted by the gateway, {verified} grants \
             verified by the upstream. The bench fails when these differ."
        ));
    }

    pub(super) fn reads(&mut self, rounds: &[Vec<Measured>]) {
        self.section("Proxied, authenticated, authorized read");
        self.rounds(rounds);
        let ratio = ratio(rounds, 1);
        self.goal(
            "every decision evaluated: at most 2.0, aim 1.75",
            ratio,
            2.0,
            READ_MISSED,
        );
    }

    pub(super) fn writes(&mut self, rounds: &[Vec<Measured>]) {
        self.section("Write with an idempotency key");
        self.rounds(rounds);
        let ratio = ratio(rounds, 2);
        self.goal(
            "on Redis: at most 2.5; its own CPU is not counted",
            ratio,
            2.5,
            WRITE_MISSED,
        );
        self.line(
            "- on Redis: at most two store round trips, one to claim the key and one to finish it. \
             Counted by a test of the store, met.",
        );
    }

    pub(super) fn callers(&mut self, ways: &[Way]) {
        self.section("One caller alone");
        self.line("| way | p50 us | p99 us | added p50 us | added p99 us |");
        self.line("|---|---|---|---|---|");
        let direct = &ways[0];
        for way in ways {
            let cells = [50, 99].map(|percent| way.percentile_us(percent));
            let added =
                [50, 99].map(|percent| way.percentile_us(percent) - direct.percentile_us(percent));
            self.line(&format!(
                "| {} | {:.0} | {:.0} | {:.0} | {:.0} |",
                way.name, cells[0], cells[1], added[0], added[1]
            ));
        }
        let added = |percent| ways[2].percentile_us(percent) - direct.percentile_us(percent);
        self.line("");
        self.goal(
            "added p50 in us: at most 100",
            added(50),
            100.0,
            CALLER_MISSED,
        );
        self.goal(
            "added p99 in us: at most 500",
            added(99),
            500.0,
            CALLER_MISSED,
        );
    }

    pub(super) fn memory(&mut self, stage: &Stage) {
        self.section("Memory after the load");
        let mebibytes = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
        self.line(&format!(
            "Resident: gateway on the embedded store {:.0} MiB, gateway on Redis {:.0} MiB, \
             nginx {:.0} MiB.",
            mebibytes(stage.embedded.process.resident_bytes()),
            mebibytes(stage.redis.process.resident_bytes()),
            mebibytes(stage.nginx.process.resident_bytes()),
        ));
    }

    pub(super) fn dispatches(&mut self, flights: &[Flights]) {
        self.section("Plan, from proposal to flight");
        self.line(
            "Through the gateway, the drone service and the simulator's link, one at a time: \
             median / longest in ms.",
        );
        self.line("");
        self.line("| store | propose | approve | dispatch |");
        self.line("|---|---|---|---|");
        for flight in flights {
            let cells = [&flight.propose, &flight.approve, &flight.dispatch];
            let [propose, approve, dispatch] = cells.map(|times| median_and_longest(times));
            self.line(&format!(
                "| {} | {propose} | {approve} | {dispatch} |",
                flight.store
            ));
        }
    }

    pub(super) fn registry(&mut self, (objects, bytes): (u32, f64)) {
        self.section("Registry");
        self.goal(
            &format!("bytes of memory per object at {objects} objects: at most 120"),
            bytes,
            120.0,
            REGISTRY_MISSED,
        );
    }

    pub(super) fn decisions(&mut self, table: &str) {
        self.section("Decision");
        self.line("From `cargo run --release -p interlock-policies --example decision_cost`:");
        self.line("");
        self.line("```text");
        self.line(table.trim_end());
        self.line("```");
    }

    pub(super) fn text(self) -> String {
        self.text
    }

    /// One line per proxy and round, then the ratio of the medians.
    fn rounds(&mut self, rounds: &[Vec<Measured>]) {
        self.line(
            "| round | proxy | requests/s | CPU us/request | ratio | p50 / p99 ms | decisions |",
        );
        self.line("|---|---|---|---|---|---|---|");
        for (number, round) in rounds.iter().enumerate() {
            let base = round[0].cpu_us_per_request();
            for measured in round {
                let seen = measured.seen;
                let cpu = measured.cpu_us_per_request();
                let decisions = measured
                    .decisions
                    .map_or("".to_owned(), |it| it.to_string());
                self.line(&format!(
                    "| {} | {} | {:.0} | {cpu:.1} | {:.2} | {:.2} / {:.2} | {decisions} |",
                    number + 1,
                    measured.proxy,
                    seen.requests as f64 / seen.seconds,
                    cpu / base,
                    seen.p50_ms,
                    seen.p99_ms,
                ));
            }
        }
        self.line("");
    }

    fn section(&mut self, title: &str) {
        self.text += &format!("\n## {title}\n\n");
    }

    /// A goal, the figure, and while it is missed the reason in words.
    fn goal(&mut self, goal: &str, figure: f64, limit: f64, missed_since: &str) {
        if figure <= limit {
            self.line(&format!("- {goal}. Measured: {figure:.2}, met."));
        } else {
            self.line(&format!(
                "- {goal}. Measured: {figure:.2}, **missed**. {missed_since}"
            ));
        }
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text += "\n";
    }
}

/// The median over the rounds of CPU per request of a proxy to that of the
/// first one in the same round.
fn ratio(rounds: &[Vec<Measured>], proxy: usize) -> f64 {
    let mut ratios: Vec<f64> = rounds
        .iter()
        .map(|round| round[proxy].cpu_us_per_request() / round[0].cpu_us_per_request())
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn median_and_longest(times: &[Duration]) -> String {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    let last = times.len() - 1;
    format!("{:.1} / {:.1}", times[last / 2], times[last])
}
