//! The timeouts, and the law that they nest.

use crate::compile::fault::{Fault, Law};
use crate::compile::reader::{Located, Reader};
use crate::compile::source::Source;

/// Deadlines in milliseconds.
#[derive(Clone, Debug)]
pub struct Timeout {
    pub name: String,
    pub connect: u32,
    pub attempt: u32,
    pub total: u32,
    pub gateway: u32,
}

/// Reads the file and judges it.
pub fn read(source: &Source, faults: &mut Vec<Fault>) -> Vec<Timeout> {
    let mut file = match Reader::parse(source) {
        Ok(file) => file,
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    let tables = file.tables("timeout", faults);
    file.finish(faults);
    let mut timeouts: Vec<Timeout> = Vec::new();
    for mut table in tables {
        let name = table.need("name", faults);
        let connect = table.need_number("connect", faults);
        let attempt = table.need_number("attempt", faults);
        let total = table.need_number("total", faults);
        let gateway = table.need_number("gateway", faults);
        table.finish(faults);
        let (Some(name), Some(connect), Some(attempt), Some(total), Some(gateway)) =
            (name, connect, attempt, total, gateway)
        else {
            continue;
        };
        if timeouts.iter().any(|known| known.name == name.value) {
            let text = format!("the timeout `{}` is given twice", name.value);
            faults.push(source.fault(name.line, Law::DuplicateName, text));
        }
        nest(
            source,
            &name.value,
            [&connect, &attempt, &total, &gateway],
            faults,
        );
        timeouts.push(Timeout {
            name: name.value,
            connect: connect.value,
            attempt: attempt.value,
            total: total.value,
            gateway: gateway.value,
        });
    }
    timeouts
}

/// 0 < connect < attempt <= total < gateway; a fault stands at the deadline
/// that is too short.
fn nest(source: &Source, name: &str, deadlines: [&Located<u32>; 4], faults: &mut Vec<Fault>) {
    let [connect, attempt, total, gateway] = deadlines;
    let mut demand = |holds: bool, at: &Located<u32>, text: &str| {
        if !holds {
            let text = format!("timeout `{name}`: {text}");
            faults.push(source.fault(at.line, Law::TimeoutOrder, text));
        }
    };
    demand(connect.value > 0, connect, "connect must be more than 0");
    demand(
        connect.value < attempt.value,
        attempt,
        "attempt must be more than connect",
    );
    demand(
        attempt.value <= total.value,
        total,
        "total must not be less than attempt",
    );
    demand(
        total.value < gateway.value,
        gateway,
        "gateway must be more than total",
    );
}
