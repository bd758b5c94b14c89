//! A list of gate operations with its cycle and its base time, as the gates of ports and those of streams have it.

use ontick_units::exact;
use serde_json::{Map, Value, json};

use super::export_error::ExportError;
use super::node::{Node, YangError};
use super::notes::Notes;
use super::{MOST_ENTRIES, SECOND_NS};
use crate::model::{Base, Clock, Entry, StreamGateEntry};

/// The beginning of 2000, before which no base time is taken, in ns.
const Y2000_NS: u64 = 946_684_800_000_000_000;

/// An entry that holds for some time.
pub(super) trait Timed: Copy {
    /// How long, in ns.
    fn for_ns(&self) -> u64;
    /// The same for another time.
    fn lasting(self, for_ns: u64) -> Self;
}

impl Timed for Entry {
    fn for_ns(&self) -> u64 {
        self.for_ns
    }

    fn lasting(self, for_ns: u64) -> Self {
        Self { for_ns, ..self }
    }
}

impl Timed for StreamGateEntry {
    fn for_ns(&self) -> u64 {
        self.for_ns
    }

    fn lasting(self, for_ns: u64) -> Self {
        Self { for_ns, ..self }
    }
}

/// What stands in `admin-control-list`, `admin-cycle-time` and `admin-base-time`.
pub(super) struct ControlList<T> {
    pub base: Base,
    pub cycle_ns: u64,
    pub entries: Vec<T>,
    /// The index of each entry of the list that has a length.
    pub indices: Vec<u32>,
}

impl<T: Timed> ControlList<T> {
    /// Reads what a table of this module has; `read` makes an entry of a node, whose time is not looked at.
    pub(super) fn read(
        table: &Node,
        module: &str,
        notes: &mut Notes,
        read: impl FnMut(&Node, &mut Notes) -> Result<T, YangError>,
    ) -> Result<Self, YangError> {
        if let Some(extension) = table.member(module, "admin-cycle-time-extension")? {
            if extension.number(0..=u32::MAX.into())? != 0 {
                notes.otherwise(&extension, "a new schedule begins with a whole cycle here; write 0");
            }
        }
        let list = table.require(module, "admin-control-list")?.require(module, "gate-control-entry")?;
        let (indices, entries) = entries(&list, module, notes, read)?;
        let cycle = table.member(module, "admin-cycle-time")?;
        let cycle_ns = match &cycle {
            Some(cycle) => self::cycle_ns(cycle, module)?,
            None => entries.iter().map(T::for_ns).sum(),
        };
        let entries = fitted(entries, cycle_ns, cycle.as_ref().unwrap_or(&list), notes)?;
        let base = table.member(module, "admin-base-time")?;
        let base = base.map_or(Ok(Base::NextSecond), |node| base_time(&node, module, cycle_ns, notes))?;
        Ok(Self { base, cycle_ns, entries, indices })
    }
}

fn entries<T: Timed>(
    list: &Node,
    module: &str,
    notes: &mut Notes,
    mut read: impl FnMut(&Node, &mut Notes) -> Result<T, YangError>,
) -> Result<(Vec<u32>, Vec<T>), YangError> {
    let items = list.items()?;
    if items.is_empty() || items.len() > MOST_ENTRIES {
        return Err(list.error(format!("{} entries; from 1 to {MOST_ENTRIES} can be", items.len())));
    }
    let mut entries: Vec<(u32, T)> = Vec::new();
    for item in items {
        let index = item.require(module, "index")?;
        let number = index.number(0..=u32::MAX.into())? as u32;
        if entries.iter().any(|(other, _)| *other == number) {
            return Err(index.error(format!("there are two entries with index {number}")));
        }
        let item = item.keyed("index", &number.to_string());
        let entry = read(&item, notes)?;
        let time = item.require(module, "time-interval-value")?;
        match time.number(0..=u32::MAX.into())? {
            0 => notes.push(format!("{}: an entry of no length is left out", time.path())),
            for_ns => entries.push((number, entry.lasting(for_ns))),
        }
    }
    if entries.is_empty() {
        return Err(list.error("all entries are of no length"));
    }
    entries.sort_by_key(|(index, _)| *index);
    Ok(entries.into_iter().unzip())
}

fn cycle_ns(cycle: &Node, module: &str) -> Result<u64, YangError> {
    let part = |name| cycle.require(module, name)?.number(1..=u32::MAX.into());
    let (numerator, denominator) = (u128::from(part("numerator")?), u128::from(part("denominator")?));
    let ns = numerator * u128::from(SECOND_NS);
    if ns % denominator != 0 {
        return Err(cycle.error(format!("{numerator}/{denominator} s is not a whole number of nanoseconds")));
    }
    u64::try_from(ns / denominator).map_err(|_| cycle.error("too long a time"))
}

/// The cycle begins anew at its end, wherever the list is; a list that ends before leaves the gates as they are
/// (IEEE 802.1Q-2022 clause 8.6.9.2).
fn fitted<T: Timed>(mut entries: Vec<T>, cycle_ns: u64, cycle: &Node, notes: &mut Notes) -> Result<Vec<T>, YangError> {
    let sum_ns: u64 = entries.iter().map(T::for_ns).sum();
    let (sum, whole) = (exact(sum_ns), exact(cycle_ns));
    if sum_ns < cycle_ns {
        // An entry's time is a 32-bit number.
        let last_ns = entries.last().map_or(0, T::for_ns) + (cycle_ns - sum_ns);
        let needed = entries.len().saturating_sub(1) as u64 + last_ns.div_ceil(u32::MAX.into());
        if needed > MOST_ENTRIES as u64 {
            return Err(cycle.error(format!(
                "a cycle of {whole} takes {needed} entries of {} at most; {MOST_ENTRIES} can be",
                exact(u32::MAX.into())
            )));
        }
        notes.push(format!(
            "{}: the entries last {sum} and the cycle {whole}; the last one stays until its end",
            cycle.path()
        ));
        let mut left_ns = cycle_ns - sum_ns;
        let Some(last) = entries.pop() else { return Ok(entries) };
        let mut for_ns = last.for_ns();
        while left_ns > 0 {
            let room = u64::from(u32::MAX) - for_ns;
            let more = left_ns.min(room);
            entries.push(last.lasting(for_ns + more));
            (left_ns, for_ns) = (left_ns - more, 0);
        }
    } else if sum_ns > cycle_ns {
        notes.push(format!(
            "{}: the entries last {sum} and the cycle {whole}; what is behind its end is left out",
            cycle.path()
        ));
        let mut left_ns = cycle_ns;
        for entry in &mut entries {
            *entry = entry.lasting(entry.for_ns().min(left_ns));
            left_ns -= entry.for_ns();
        }
        entries.retain(|entry| entry.for_ns() > 0);
    }
    Ok(entries)
}

fn base_time(node: &Node, module: &str, cycle_ns: u64, notes: &mut Notes) -> Result<Base, YangError> {
    let seconds = node.require(module, "seconds")?.number(0..=u64::MAX / SECOND_NS - 1)?;
    let ns = node.member(module, "nanoseconds")?.map_or(Ok(0), |ns| ns.number(0..=SECOND_NS - 1))?;
    let base_ns = seconds * SECOND_NS + ns;
    if base_ns >= Y2000_NS {
        return Ok(Base::At(base_ns));
    }
    if base_ns % SECOND_NS == 0 && SECOND_NS % cycle_ns == 0 {
        notes.push(format!("{}: cycles begin with every second, so with the next one", node.path()));
        return Ok(Base::NextSecond);
    }
    // The same cycles, counted from a later one on.
    let later_ns = base_ns + (Y2000_NS - base_ns).div_ceil(cycle_ns) * cycle_ns;
    notes.push(format!("{}: written as {later_ns}, from which the same cycles count", node.path()));
    Ok(Base::At(later_ns))
}

/// When the cycles of gates begin, and how long they are.
pub(super) struct Times {
    /// `port swp1`, `stream axis1`
    pub gates_of: String,
    pub base: Base,
    pub cycle_ns: u64,
}

impl Times {
    /// What gates of ports and of streams have in common.
    pub fn parameters(
        self,
        clock: Clock,
        entries: Vec<Value>,
        notes: &mut Vec<String>,
    ) -> Result<Map<String, Value>, ExportError> {
        let Self { gates_of, base, cycle_ns } = self;
        let Some((numerator, denominator)) = fraction(cycle_ns) else {
            return Err(ExportError::Cycle { gates_of, cycle_ns });
        };
        let base_ns = match base {
            Base::At(_) if clock != Clock::Tai => {
                return Err(ExportError::NotTai { gates_of, clock: clock.name() });
            }
            Base::At(ns) => ns,
            Base::NextSecond => {
                if SECOND_NS % cycle_ns != 0 {
                    notes.push(format!("{gates_of}: \"next second\" has no date; the base time 0 is written"));
                }
                0
            }
        };
        let parameters = [
            ("admin-control-list", json!({ "gate-control-entry": entries })),
            ("admin-cycle-time", json!({ "numerator": numerator, "denominator": denominator })),
            ("admin-cycle-time-extension", json!(0)),
            // A 64-bit number is a text (RFC 7951 section 6.1).
            (
                "admin-base-time",
                json!({ "seconds": (base_ns / SECOND_NS).to_string(), "nanoseconds": base_ns % SECOND_NS }),
            ),
            ("config-change", json!(true)),
        ];
        Ok(parameters.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
    }
}

/// A time as a fraction of seconds, of 32-bit numbers: in nanoseconds where that goes, else in its lowest terms.
fn fraction(ns: u64) -> Option<(u32, u32)> {
    if let Ok(ns) = u32::try_from(ns) {
        return Some((ns, SECOND_NS as u32));
    }
    let (mut a, mut b) = (ns, SECOND_NS);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Some((u32::try_from(ns / a).ok()?, u32::try_from(SECOND_NS / a).ok()?))
}
