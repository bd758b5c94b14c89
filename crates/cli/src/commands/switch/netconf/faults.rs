//! What is wrong with a configuration, with the path of the node that it is wrong with (RFC 6241 section 4.3).

use ontick_record::Severity;
use ontick_switch::{check, ethtool};
use ontick_tsn::config::{Fault, Part, Section, Terms};
use ontick_tsn::model::Switch;
use ontick_tsn::netconf::{RpcError, Tag};
use ontick_tsn::yang::{self, Imported, MergeError, Otherwise, YangError};

/// A value that no document can have.
pub fn of_import(error: YangError) -> RpcError {
    match error.missing {
        Some(element) => {
            RpcError::application(Tag::MissingElement, error.path, error.what).with("bad-element", element)
        }
        None => RpcError::application(Tag::InvalidValue, error.path, error.what),
    }
}

/// Refuses what would be answered with <ok/> and then done otherwise.
pub fn refuse_otherwise(imported: &Imported) -> Result<(), RpcError> {
    imported
        .otherwise
        .first()
        .map_or(Ok(()), |Otherwise { path, what }| Err(RpcError::application(Tag::OperationNotSupported, path, what)))
}

/// What this switch does not have.
pub fn of_merge(error: MergeError) -> RpcError {
    RpcError::application(Tag::InvalidValue, error.path(), error.to_string())
}

/// What no switch could be.
pub fn of_switch(fault: &Fault, switch: &Switch, imported: &Imported) -> RpcError {
    let others = match fault.others {
        0 => String::new(),
        n => format!(" ({n} more of its values cannot be so)"),
    };
    let what = with_numbers(&fault.what, &fault.part, switch, imported) + &others;
    RpcError::application(Tag::InvalidValue, yang::place(&fault.part, switch, imported), what)
}

/// Refuses windows through which no frame of their class is ever sent.
pub fn refuse_short_windows(switch: &Switch, imported: &Imported) -> Result<(), RpcError> {
    let found = check::short_windows(switch, switch.plane, |port| ethtool::rate(&port.name), None, Terms::Yang);
    let Some(short) = found.iter().find(|short| short.finding.severity == Severity::Bad) else { return Ok(()) };
    let part = Part { section: Section::Gates(short.port), key: Some("entries".into()), entry: None };
    let (class, finding) = (&switch.classes[short.class], &short.finding);
    let what = format!(
        "`{}` (traffic class {}) is open for {}, and needs {}; {}",
        class.name, class.queue, finding.observed, finding.should, finding.why
    );
    Err(RpcError::application(Tag::InvalidValue, yang::place(&part, switch, imported), what))
}

/// A manager knows a class and a stream by its number, the switch by its name.
fn with_numbers(what: &str, part: &Part, switch: &Switch, imported: &Imported) -> String {
    let mut whole = what.to_owned();
    let mut add = |name: &str, number: &dyn Fn() -> Option<String>| {
        let name = format!("`{name}`");
        if let Some(number) = what.contains(&name).then(number).flatten() {
            whole = whole.replace(&name, &format!("{name} ({number})"));
        }
    };
    match part.section {
        Section::Stream(_) | Section::StreamGate(_) => {
            for (place, stream) in switch.streams.iter().enumerate() {
                add(&stream.name, &|| Some(format!("handle {}", yang::stream_of(place, switch, imported)?.handle)));
            }
        }
        _ => {
            for class in &switch.classes {
                add(&class.name, &|| Some(format!("traffic class {}", class.queue)));
            }
        }
    }
    whole
}
