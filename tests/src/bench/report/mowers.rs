//! The part of the mower service.

use crate::bench::mowers::{Measured, millis};
use crate::bench::report::Report;

impl Report {
    pub(in crate::bench) fn mowers(&mut self, measured: &[Measured]) {
        self.section("Mowers");
        self.line(
            "Through the gateway, the fleet service, the bus and the device gateway to simulated \
             mowers, and back into the records. Every write waits for the disk, on SQLite, \
             Postgres, Redis and NATS alike. What is called executed was confirmed by a mower; the \
             bench fails when a command is refused, has no record, or is not executed.",
        );
        self.line("");
        self.commands(measured);
        self.bulks(measured);
        self.stops(measured);
    }

    fn commands(&mut self, measured: &[Measured]) {
        self.line("### Commands");
        self.line("");
        self.line(
            "Settings to one mower after the other, 64 callers at once. CPU is that of each \
             process per command, up to the last result; where a part has no process of its own it \
             is in the service.",
        );
        self.line("");
        self.line("| stack | commands/s | p50 / p99 ms | records | executed | last result | CPU us/command |");
        self.line("|---|---|---|---|---|---|---|");
        for one in measured {
            let commands = &one.commands;
            let seen = commands.seen;
            let cpu = commands.cpu_us.iter();
            let cpu: Vec<String> = cpu.map(|(part, us)| format!("{part} {us:.0}")).collect();
            self.line(&format!(
                "| {} | {:.0} | {:.2} / {:.2} | {} | {} | {:.1} s after | {} |",
                one.stack,
                seen.requests as f64 / seen.seconds,
                seen.p50_ms,
                seen.p99_ms,
                commands.recorded,
                commands.executed,
                commands.behind_s,
                cpu.join(", "),
            ));
        }
        self.line("");
    }

    fn bulks(&mut self, measured: &[Measured]) {
        self.line("### A command to many");
        self.line("");
        self.line(
            "One pause for a group, judged member by member. Starts are not measured: they are \
             paced to five a second for each vendor account.",
        );
        self.line("");
        self.line("| stack | mowers | answer ms | last mower confirmed ms | last on record ms | executed |");
        self.line("|---|---|---|---|---|---|");
        for one in measured {
            let bulk = &one.bulk;
            let [answered, confirmed, recorded] =
                [bulk.answered, bulk.confirmed, bulk.recorded].map(millis);
            self.line(&format!(
                "| {} | {} | {answered:.0} | {confirmed:.0} | {recorded:.0} | {} |",
                one.stack, bulk.accepted, bulk.executed
            ));
        }
        self.line("");
    }

    fn stops(&mut self, measured: &[Measured]) {
        self.line("### An emergency stop of a fleet");
        self.line("");
        self.line(
            "One call by a viewer. The answer comes when every stop is handed over, after two \
             seconds at the latest; the stops go on beyond it. A mower confirms once it stands.",
        );
        self.line("");
        self.line(
            "| stack | mowers | driving | answer ms | handed over by then | on record by then | last mower stood ms | last on record ms | executed |",
        );
        self.line("|---|---|---|---|---|---|---|---|---|");
        for one in measured {
            let stop = &one.stop;
            let [answered, stood, recorded] =
                [stop.answered, stop.stood, stop.recorded].map(millis);
            let on_record = if stop.on_record { "yes" } else { "spooled" };
            self.line(&format!(
                "| {} | {} | {} | {answered:.0} | {} | {on_record} | {stood:.0} | {recorded:.0} | {} |",
                one.stack, stop.mowers, stop.driving, stop.accepted, stop.executed
            ));
        }
    }
}
