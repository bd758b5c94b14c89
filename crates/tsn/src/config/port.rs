//! Ports: the `[[port]]` tables.

use std::ops::Range;

use toml::Spanned;

use super::class::{Draft as Class, class_index};
use super::gates::{self, Places};
use super::preemption;
use super::problem::{Report, Reported};
use super::table::{At, Table, text, whole};
use super::values;
use crate::model::{Gates, Offload, Port, Preemption};
use crate::wire;

/// How early a frame is handed over where that is not said, in ns: more than the usual wake-up takes.
const TXTIME_DELAY_NS: u64 = 300_000;
/// Frames are padded to carry so many octets at least (IEEE 802.3 clause 4.4.2, with a VLAN tag).
const SMALLEST_SDU: u32 = 42;
/// More queues than that have no handle of ontick's below taprio.
const MOST_QUEUES: u64 = 255;
/// Jumbo frames of the largest common kind.
const LARGEST_SDU: u32 = 9_216;

/// A port as far as it could be read.
pub(super) struct Draft {
    pub(super) span: Range<usize>,
    pub(super) name: Result<At<String>, Reported>,
    pub(super) rate: Result<Option<u64>, Reported>,
    pub(super) offload: Result<Offload, Reported>,
    /// By the class's place in the file.
    pub(super) max_sdu: Result<Vec<Option<u32>>, Reported>,
    transmit_queues: Result<Vec<u8>, Reported>,
    /// With where they are.
    pub(super) idle_slopes: Result<At<Vec<Option<u64>>>, Reported>,
    preemption: Result<Option<Preemption>, Reported>,
    pub(super) gates: Result<Option<(Gates, Places)>, Reported>,
}

impl Draft {
    pub(super) fn port(&self) -> Result<Port, Reported> {
        Ok(Port {
            name: self.name.clone()?.into_inner(),
            rate: self.rate?,
            offload: self.offload?,
            max_sdu: self.max_sdu.clone()?,
            transmit_queues: self.transmit_queues.clone()?,
            idle_slopes: self.idle_slopes.clone()?.into_inner(),
            preemption: self.preemption.clone()?,
            gates: self.gates.clone()?.map(|(gates, _)| gates),
        })
    }
}

pub(super) fn port(mut table: Table, classes: &[Class], report: &mut Report) -> Draft {
    let name = table.parsed("name", report, values::interface);
    let name = table.require("name", "name = \"enp2s0f1\"", name, report);
    let rate = table.parsed("rate", report, values::rate).map(|rate| rate.map(Spanned::into_inner));
    let offload = offload(&mut table, report);
    let max_sdu = table.table("max-sdu", "`max-sdu`".into(), report);
    let max_sdu = max_sdu
        .and_then(|sizes| sizes.map_or(Ok(vec![None; classes.len()]), |sizes| max_sdus(&sizes, classes, report)));
    let queues = table.table("transmit-queues", "`transmit-queues`".into(), report);
    let queues =
        queues.and_then(|queues| queues.map_or(Ok(Vec::new()), |queues| transmit_queues(&queues, classes, report)));
    let slopes = table.table("idle-slope", "`idle-slope`".into(), report);
    let slopes = slopes.and_then(|slopes| {
        slopes.map_or(Ok(At::new(table.span(), Vec::new())), |slopes| idle_slopes(&slopes, classes, report))
    });
    let preemption = table.table("preemption", "[port.preemption]".into(), report);
    let preemption = preemption.and_then(|table| {
        let read = |table: Table| Ok((table.span(), preemption::preemption(table, classes, report)?));
        table.map(read).transpose()
    });
    let gates = table.table("gates", "[port.gates]".into(), report);
    let gates = gates.and_then(|table| table.map(|table| gates::gates(table, classes, report)).transpose());
    let span = table.span();
    table.finish(report);
    let queues = match (queues, &gates) {
        (Ok(queues), Ok(None)) if !queues.is_empty() => {
            Err(report.error(span.clone(), "`transmit-queues` goes with [port.gates] alone; leave it out"))
        }
        (queues, _) => queues,
    };
    let preemption = preemption.and_then(|preemption| match preemption {
        Some((span, _)) if matches!(gates, Ok(Some(_))) && offload.is_ok_and(|offload| offload != Offload::Full) => {
            Err(report
                .error(span, "frames of gates in software are not preempted; write offload = \"full\" for the port"))
        }
        preemption => Ok(preemption.map(|(_, preemption)| preemption)),
    });
    Draft { span, name, rate, offload, max_sdu, transmit_queues: queues, idle_slopes: slopes, preemption, gates }
}

fn idle_slopes(slopes: &Table, classes: &[Class], report: &mut Report) -> Result<At<Vec<Option<u64>>>, Reported> {
    let mut all = Ok(vec![None; classes.len()]);
    for (key, value) in slopes.entries() {
        let name = key.get_ref();
        let rate = text(value, name, report).and_then(|text| {
            values::rate(text.get_ref()).map_err(|what| report.error(text.span(), format!("`{name}`: {what}")))
        });
        match (class_index(name, key.span(), classes, report), rate) {
            (Ok(index), Ok(rate)) => {
                if let Ok(all) = &mut all {
                    all[index] = Some(rate);
                }
            }
            (Err(reported), _) | (_, Err(reported)) => all = Err(reported),
        }
    }
    // As if it were not written.
    all.map(|all| At::new(slopes.span(), if all.iter().all(Option::is_none) { Vec::new() } else { all }))
}

/// How many each class has, all of them together no more than a port of the kernel's has.
fn transmit_queues(queues: &Table, classes: &[Class], report: &mut Report) -> Result<Vec<u8>, Reported> {
    let mut all = Ok(vec![1; classes.len()]);
    for (key, value) in queues.entries() {
        let count = whole(value, key.get_ref(), 1..=MOST_QUEUES, report);
        match (class_index(key.get_ref(), key.span(), classes, report), count) {
            (Ok(index), Ok(count)) => {
                if let Ok(all) = &mut all {
                    all[index] = count.into_inner() as u8;
                }
            }
            (Err(reported), _) | (_, Err(reported)) => all = Err(reported),
        }
    }
    let all = all?;
    match all.iter().map(|count| u64::from(*count)).sum::<u64>() {
        sum if sum > MOST_QUEUES => {
            let what =
                format!("{sum} transmit queues, with one for each class that is not named; {MOST_QUEUES} can be");
            Err(report.error(queues.span(), what))
        }
        // As if it were not written.
        _ if all.iter().all(|count| *count == 1) => Ok(Vec::new()),
        _ => Ok(all),
    }
}

/// The kinds of `offload`.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    None,
    TxTime,
    Full,
}

fn offload(table: &mut Table, report: &mut Report) -> Result<Offload, Reported> {
    let kinds = [("none", Kind::None), ("txtime", Kind::TxTime), ("full", Kind::Full)];
    let kind = table.choice("offload", &kinds, report);
    let delay = table.parsed("txtime-delay", report, values::time);
    let kind = kind?.map_or(Kind::None, Spanned::into_inner);
    match (kind, delay?) {
        (Kind::TxTime, delay) => {
            let span = delay.as_ref().map_or(table.span(), Spanned::span);
            let delay_ns = delay.map_or(TXTIME_DELAY_NS, Spanned::into_inner);
            match u32::try_from(delay_ns) {
                Ok(delay_ns @ 1..) => Ok(Offload::TxTime { delay_ns }),
                _ => Err(report.error(span, "`txtime-delay` is above zero and below 4.2s; 300us is usual")),
            }
        }
        (_, Some(delay)) => {
            Err(report.error(delay.span(), "`txtime-delay` goes with offload = \"txtime\" alone; leave it out"))
        }
        (Kind::Full, None) => Ok(Offload::Full),
        (Kind::None, None) => Ok(Offload::None),
    }
}

fn max_sdus(sizes: &Table, classes: &[Class], report: &mut Report) -> Result<Vec<Option<u32>>, Reported> {
    let mut largest = Ok(vec![None; classes.len()]);
    for (key, value) in sizes.entries() {
        let size = whole(value, key.get_ref(), 0..=u32::MAX.into(), report);
        let size = size.and_then(|size| match size.get_ref() {
            0 => Err(report.error(size.span(), "leave the class out where it has no limit of its own")),
            _ => largest_sdu(&size, report),
        });
        match (class_index(key.get_ref(), key.span(), classes, report), size) {
            (Ok(index), Ok(size)) => {
                if let Ok(largest) = &mut largest {
                    largest[index] = Some(size);
                }
            }
            (Err(reported), _) | (_, Err(reported)) => largest = Err(reported),
        }
    }
    largest
}

/// A size that some frame can have.
pub(super) fn largest_sdu(size: &At<u64>, report: &mut Report) -> Result<u32, Reported> {
    match *size.get_ref() as u32 {
        small @ ..SMALLEST_SDU => {
            let what =
                format!("no frame carries less than {SMALLEST_SDU} octets (shorter ones are padded), not {small}");
            Err(report.error(size.span(), what))
        }
        large if large > LARGEST_SDU => {
            Err(report.error(size.span(), format!("{large} is more than the largest link carries ({LARGEST_SDU})")))
        }
        size_ => {
            if size_ > wire::LARGEST_SDU {
                let what = format!("{size_} octets need an MTU above {}; others drop such frames", wire::LARGEST_SDU);
                report.warn(size.span(), what);
            }
            Ok(size_)
        }
    }
}
