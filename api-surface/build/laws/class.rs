//! The laws about what each class demands of its row.

use crate::compile::class::Class;
use crate::compile::fault::{Fault, Law};
use crate::compile::reader::Located;
use crate::compile::relation::Relation;
use crate::compile::table::Draft;
use crate::compile::terms::{BodyRule, Idempotency, ServedBy};

/// What must hold, the line to blame when it does not, and what to say then.
type Demand = (bool, usize, Law, &'static str);

/// Judges a row by its class.
pub fn judge(row: &Draft) -> Vec<Fault> {
    let demands = class(row)
        .into_iter()
        .chain(listeners(row))
        .chain(stop(row));
    demands
        .filter(|(holds, ..)| !holds)
        .map(|(_, line, law, text)| row.fault(line, law, text))
        .chain(tool(row))
        .collect()
}

/// The kinds that calm a vehicle down. Nothing that a policy adds may hold them
/// back, so that the list stands here and not in a table.
const CALMING_KINDS: [&str; 2] = ["pause_mow", "return_to_dock"];

fn class(row: &Draft) -> [Demand; 6] {
    let class = row.right.class;
    let Located {
        value: calming,
        line: at_calming,
    } = row.right.calming;
    let Located {
        value: public,
        line: at_public,
    } = row.right.public;
    let Located {
        value: success,
        line: at_success,
    } = row.success;
    let kind = row.call.kind.as_ref().map(|kind| kind.value.as_str());
    let calms = kind.is_some_and(|kind| CALMING_KINDS.contains(&kind));
    [
        (
            class.is_read() || row.idempotency.is_some(),
            row.line,
            Law::IdempotencyMissing,
            "a call that is no read must say `idempotency`: honoured, required or never",
        ),
        (
            !calming || class == Class::Write,
            at_calming,
            Law::CalmingClass,
            "only a `write` can be calming",
        ),
        (
            !calms || calming || class != Class::Write,
            row.line,
            Law::CalmingKind,
            "pausing and docking are calming: set `calming = true`",
        ),
        (
            calms || !calming,
            at_calming,
            Law::CalmingKind,
            "only pausing and docking calm; what else a policy may not hold back is a safety-write",
        ),
        (
            !public || class == Class::Read,
            at_public,
            Law::PublicClass,
            "only a `read` can be public",
        ),
        (
            (200..300).contains(&success),
            at_success,
            Law::SuccessStatus,
            "`success` must be from 200 to 299",
        ),
    ]
}

/// Callers reach a row that has an action; nobody is asked about internal ones.
fn listeners(row: &Draft) -> [Demand; 3] {
    let internal = row.right.class == Class::Internal;
    let action = row.right.action.as_ref();
    let served = match row.served_by.value {
        ServedBy::Gateway => !internal,
        ServedBy::Ops => internal,
        ServedBy::Service => true,
    };
    [
        (
            internal || action.is_some(),
            row.line,
            Law::ActionRule,
            "a row that callers reach needs an `action`: Cedar must be asked",
        ),
        (
            !internal || action.is_none(),
            action.map_or(row.line, |action| action.line),
            Law::ActionRule,
            "an internal row has no `action`: nobody is asked",
        ),
        (
            served,
            row.served_by.line,
            Law::ServedNowhere,
            "the gateway serves no internal row, and ops nothing else",
        ),
    ]
}

/// Nothing that a caller lacks may keep a stop from going out.
fn stop(row: &Draft) -> [Demand; 3] {
    let free = row.right.class != Class::SafetyWrite;
    let key = row.idempotency.as_ref();
    [
        (
            free || row.right.relation.value == Relation::View,
            row.right.relation.line,
            Law::StopRelation,
            "a safety-write must be in relation `view`: whoever may see may stop",
        ),
        (
            free || key.is_none_or(|key| key.value != Idempotency::Required),
            key.map_or(row.line, |key| key.line),
            Law::StopUnconditional,
            "a stop is never refused by its key: `honoured` or `never`",
        ),
        (
            free || row.call.kind.is_some() || row.content.body.value != BodyRule::Required,
            row.content.body.line,
            Law::StopUnconditional,
            "a stop is never refused for want of a body: `none` or `optional`",
        ),
    ]
}

/// A stop must not depend on a body that can be read, so one that is a kind is
/// the second way to say it.
pub fn bodiless_stop(row: &Draft, rows: &[Draft]) -> Option<Fault> {
    let kind = row.call.kind.as_ref()?;
    let other_way = |other: &Draft| {
        other.right.class == Class::SafetyWrite
            && other.content.body.value == BodyRule::None
            && other.service == row.service
            && other.right.resource == row.right.resource
            && other.right.resource_from.value == row.right.resource_from.value
    };
    let lacks = row.right.class == Class::SafetyWrite && !rows.iter().any(other_way);
    lacks.then(|| {
        let text =
            "a stop that is a kind needs a safety-write without a body for the same resource";
        row.fault(kind.line, Law::StopByKind, text)
    })
}

fn tool(row: &Draft) -> Option<Fault> {
    let tool = row.mcp_tool.as_ref()?;
    let (law, text) = match row.right.class {
        Class::Approval => (
            Law::ToolOnApproval,
            "no tool may approve; that is a person's part",
        ),
        Class::Write if !row.right.calming.value => (
            Law::ToolOnStart,
            "no tool may start a vehicle without a code",
        ),
        Class::Internal => (Law::ToolOnInternal, "no tool may reach an internal row"),
        _ => return None,
    };
    Some(row.fault(tool.line, law, text))
}
