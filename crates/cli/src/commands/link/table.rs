//! `ontick link test --table`: source 002's method and setting, and the fastest that hold, in a time that is known
//! before.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use ontick_link::trial::Extent;
use ontick_link::{Code, Method, Setting};
use ontick_measure::restrict_affinity::{Cpus, RestrictedAffinity};
use ontick_measure::timetable::{Pace, Timetable};
use ontick_measure::{Length, Limits};
use ontick_rt::clock::ClockId;
use ontick_units::show;
use serde::Serialize;

use super::bare::{self, BareRow};
use super::bench::{Bench, Row};
use super::tune::{self, Search};
use super::{ends, render};
use crate::commands::{gpio, measuring};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// A trial needs this beside its frames, in ns: threads that start, and what is waited for behind the last frame.
const BESIDE_NS: u64 = 150_000_000;
/// The shortest trial: two frames of the slowest codes, in ns.
const LEAST_NS: u64 = 350_000_000;

#[derive(Serialize)]
struct Document {
    source_002_bits_per_s: f64,
    source_002_method: Vec<BareRow>,
    rows: Vec<Row>,
}

/// One of the table's parts: a trial or a search, on so many CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Bare(Cpus),
    Setting(Cpus, Method),
    Fastest(Cpus, Method),
}

impl Part {
    /// Trials that it takes, at most.
    fn trials(self) -> u64 {
        match self {
            Part::Bare(_) | Part::Setting(..) => 1,
            Part::Fastest(_, method) => tune::most_trials(method),
        }
    }
}

/// The parts of the table where edges can be detected in these ways.
fn parts(ways: &[Method], notifies: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    for cpus in [Cpus::Some(1), Cpus::All] {
        parts.extend(notifies.then_some(Part::Bare(cpus)));
        for method in ways.iter().copied().filter(|method| (cpus, *method) != (Cpus::Some(1), Method::Poll)) {
            if method == Method::Interrupt || ways.len() == 1 {
                parts.push(Part::Setting(cpus, method));
            }
            parts.push(Part::Fastest(cpus, method));
        }
    }
    parts
}

fn timetable(parts: &[Part]) -> Timetable {
    let blocks = parts.iter().map(|part| part.trials()).sum();
    Timetable { blocks, least_ns: LEAST_NS, beside_ns: BESIDE_NS, once_ns: 0 }
}

/// Measures and prints it, in this time unless that is too short.
pub fn run(bench: &Bench, parity: u8, duration_ns: u64, json: bool, stop: &AtomicBool) -> Result<Outcome, Failure> {
    let (ways, notifies) = (bench.ways(), ends::notifies(&bench.to));
    let parts = parts(&ways, notifies);
    if ways.contains(&Method::Poll) {
        ends::say("note: not polled on 1 CPU: two threads that spin would block each other");
    }
    let table = timetable(&parts);
    measuring::announce_time(table.takes_ns(duration_ns));
    let pace = Pacing(RefCell::new(table.start(duration_ns, now_ns())));
    let (mut bare, mut rows) = (Vec::new(), Vec::new());
    let note = render::note(&bench.lines());
    if !json {
        terminal::print(&format!("{:21}{HEAD}\n", ""))?;
    }
    let print = |line: String| if json { Ok(()) } else { terminal::print(&(line + "\n")) };
    for part in parts.iter().copied() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let left = pace.left();
        match part {
            Part::Bare(cpus) => {
                let row = pace.trial(|limits_ns| {
                    let _confined = RestrictedAffinity::to(cpus, bench.cpu())?;
                    let until_ns = now_ns() + limits_ns;
                    bare::run((&bench.from, &bench.to), u64::MAX >> 1, until_ns, cpus.to_string(), stop)
                })?;
                print(bare_line(&row.0, note))?;
                bare.push(row.0);
            }
            Part::Setting(cpus, method) => {
                let setting = Setting::new(Code::SOURCE_002, parity)?.brisk();
                let row = pace.trial(|limits_ns| bench.run(method, setting, extent(setting, limits_ns), cpus, stop))?;
                print(line(&row.0, note))?;
                rows.push(row.0);
            }
            Part::Fastest(cpus, method) => {
                let search = Search { wanted: tune::bearable(method), parity };
                let trial = |setting| {
                    pace.trial(|limits_ns| bench.run(method, setting, extent(setting, limits_ns), cpus, stop))
                };
                if let Some((row, _)) = search.fastest(method, stop, trial, |_| {})? {
                    print(line(&row, note))?;
                    rows.push(row);
                }
            }
        }
        // A search may find what it looks for in fewer trials.
        pace.skip(part.trials().saturating_sub(left - pace.left()));
    }
    if json {
        gpio::document(&Document { source_002_bits_per_s: bare::ARTICLE_BITS_PER_S, source_002_method: bare, rows })?;
    }
    if !json {
        terminal::print(NOTE)?;
    }
    if stop.load(Ordering::Relaxed) {
        ends::say("ended early: rows are missing");
    }
    Ok(Outcome::Met)
}

fn now_ns() -> u64 {
    ClockId::Monotonic.now_ns()
}

/// As many frames as should take so long, and no longer.
fn extent(setting: Setting, limits_ns: u64) -> Extent {
    let frame_ns = setting.frame_ns(setting.payload);
    let each_ns = frame_ns + setting.pause_ns(frame_ns);
    Extent { frames: (limits_ns / each_ns.max(1)).clamp(2, 1_000_000) as u32, until_ns: now_ns() + limits_ns }
}

/// The time that is left, for one trial after the other.
struct Pacing(RefCell<Pace>);

impl Pacing {
    /// Runs a trial of the length that it is given, in ns.
    fn trial<T>(&self, run: impl FnOnce(u64) -> Result<T, Failure>) -> Result<T, Failure> {
        let began_ns = now_ns();
        let limits: Limits = self.0.borrow().block(began_ns);
        let limits_ns = if let Length::Duration(ns) = limits.length { ns } else { LEAST_NS };
        let result = run(limits_ns);
        self.0.borrow_mut().took(limits, now_ns() - began_ns);
        result
    }

    fn left(&self) -> u64 {
        self.0.borrow().left()
    }

    fn skip(&self, blocks: u64) {
        self.0.borrow_mut().skip(blocks);
    }
}

/// Heads of [`line()`] and [`bare_line`], after a name. In brackets what source 002 has.
const HEAD: &str = "code   short   step   kb/s (002)   sent lost %";
const NOTE: &str =
    "(002): what source 002's article reports, in kb/s. Its method sends bare bits, the others frames.\n";

fn line(row: &Row, note: &str) -> String {
    let name = format!("{}, {}", row.cpus, row.method);
    let code = (row.alphabet.as_str(), row.short_ns, row.step_ns);
    let of_source = (&*Code::SOURCE_002.alphabet(), Code::SOURCE_002.shortest_ns, Code::SOURCE_002.step_ns);
    let article = (code == of_source).then_some(bare::ARTICLE_BITS_PER_S);
    columns(&name, code, (row.net_bits_per_s, article), (row.frames, row.frame_error_rate)) + note
}

fn bare_line(row: &BareRow, note: &str) -> String {
    let name = format!("{}, its method", row.cpus);
    let code = ("2x1", row.short_ns, row.long_ns - row.short_ns);
    let rates = (row.bits_per_s, Some(row.source_002_bits_per_s));
    columns(&name, code, rates, (row.bits, row.bit_error_rate)) + note
}

/// With room for a note within 80 columns.
fn columns(
    name: &str,
    (code, short_ns, step_ns): (&str, u64, u64),
    (rate, article): (f64, Option<f64>),
    (sent, lost): (u64, f64),
) -> String {
    let [short, step] = [short_ns, step_ns].map(show);
    let article = article.map_or("-".into(), |rate| format!("({:.1})", rate / 1e3));
    let (rate, lost) = (kilobits(rate), format!("{:.1}", lost * 100.0));
    format!("{name:<21}{code:<5}{short:>7}{step:>7}{rate:>7}{article:>6}{sent:>7}{lost:>7}")
}

fn kilobits(bits_per_s: f64) -> String {
    let digits = if bits_per_s < 99_950.0 { 1 } else { 0 };
    format!("{:.digits$}", bits_per_s / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_states_its_trials_before_it_starts() {
        let both = parts(&[Method::Interrupt, Method::Poll], true);
        let bare = both.iter().filter(|part| matches!(part, Part::Bare(_))).count();
        assert_eq!((both.len(), bare), (7, 2), "{both:?}");
        assert!(!both.contains(&Part::Fastest(Cpus::Some(1), Method::Poll)), "two that spin on one CPU");
        // Two by source 002's method, two of its setting, two searches that halve, and one that tries all.
        assert_eq!(timetable(&both).blocks, 2 + 2 + 2 * 20 + 40);
        let registers = parts(&[Method::Poll], false);
        assert_eq!(registers, [Part::Setting(Cpus::All, Method::Poll), Part::Fastest(Cpus::All, Method::Poll)]);
    }

    #[test]
    fn a_trial_has_as_many_frames_as_its_time_has_room_for() {
        let setting = Setting::new(Code::SOURCE_002, 10).unwrap().brisk();
        let frame_ns = setting.frame_ns(setting.payload);
        let each_ns = frame_ns + setting.pause_ns(frame_ns);
        assert_eq!([0, each_ns * 7, u64::MAX / 2].map(|ns| extent(setting, ns).frames), [2, 7, 1_000_000]);
    }

    #[test]
    fn every_row_fits_into_80_columns_below_its_head() {
        let lines = [
            columns("all CPUs, interrupt", ("16x16", 100_000, 100_000), (698_400.0, None), (100_000, 0.0)),
            columns("all CPUs, its method", ("2x1", 100_000, 100_000), (3_912.0, Some(4_000.0)), (4_000, 1.0)),
        ];
        let head = format!("{:21}{HEAD}", "");
        for line in lines {
            assert!(line.len() == head.len() && line.len() + "  (simulated)".len() <= 80, "{line}");
            assert_eq!(line[..head.find(" (002)").unwrap()].trim_end().len(), head.find(" (002)").unwrap(), "{line}");
        }
    }
}
