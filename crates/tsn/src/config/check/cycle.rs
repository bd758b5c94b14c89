//! That a cycle is one that the data planes can keep, and its base time one that somebody meant.

use std::fmt::Display;

use crate::model::Clock;
use jiff::Timestamp;
use ontick_units::exact;

use super::super::head::Head;
use super::super::port::Draft as Port;
use super::super::problem::Report;
use super::super::terms::Terms;
use crate::model::{Base, Offload, Plane};

/// Software cannot turn gates faster: the edge itself takes about a microsecond.
pub(crate) const SHORTEST_NS: u64 = 10_000;
/// sch_taprio takes a cycle as a signed 32-bit number.
const LONGEST_TAPRIO_NS: u64 = i32::MAX as u64;
/// The beginning of 2000; a base time before it was not meant as one of TAI or UTC, in ns.
const Y2000_NS: u64 = 946_684_800_000_000_000;
const TEN_YEARS_NS: u64 = 10 * 31_556_952 * 1_000_000_000;
/// A clock that shows less was never set, and tells nothing about base times.
const Y2020_NS: u64 = 1_577_836_800_000_000_000;

pub(super) fn cycle(port: &Port, head: &Head, now_ns: u64, report: &mut Report) {
    let Ok(Some((gates, places))) = &port.gates else { return };
    let cycle_ns = gates.cycle_ns;
    if cycle_ns < SHORTEST_NS && port.offload.is_ok_and(|offload| offload != Offload::Full) {
        let what = format!(
            "a cycle of {} is too short for gates in software; {} at least{}",
            exact(cycle_ns),
            exact(SHORTEST_NS),
            report.terms().pick(", or offload = \"full\" where the port can", "")
        );
        report.error(places.cycle.clone(), what);
    }
    if cycle_ns > LONGEST_TAPRIO_NS {
        let what = format!("a cycle of {} is too long for the kernel's taprio (2.147483647s at most)", exact(cycle_ns));
        match head.plane {
            Plane::Kernel => drop(report.error(places.cycle.clone(), what)),
            Plane::Auto => report.warn(places.cycle.clone(), format!("{what}: the user data plane will do it")),
            Plane::User => {}
        }
    }
    if head.plane == Plane::User && port.offload.is_ok_and(|offload| offload != Offload::None) {
        report.warn(places.cycle.clone(), "`offload` is of the kernel's data plane; plane = \"user\" does not use it");
    }
    if let Base::At(base_ns) = gates.base {
        base(base_ns, head.clock, now_ns, places.base.clone(), report);
    }
}

pub(crate) fn base(base_ns: u64, clock: Clock, now_ns: u64, span: std::ops::Range<usize>, report: &mut Report) {
    if clock == Clock::Monotonic {
        if base_ns > TEN_YEARS_NS {
            let clock = report.terms().pick("with clock = \"monotonic\"", "by this switch's clock");
            report.error(span, format!("no machine runs that long: {clock} the base time counts from its start"));
        }
    } else if base_ns < Y2000_NS {
        let (subject, day) = (report.terms().subject("base-time"), date(base_ns));
        let what = format!(
            "{subject}is {day}; {} (a time that has passed is fine: cycles count on from it)",
            since(report.terms())
        );
        report.error(span, what);
    } else if now_ns > Y2020_NS && base_ns > now_ns.saturating_add(TEN_YEARS_NS) {
        let (subject, day) = (report.terms().subject("base-time"), date(base_ns));
        report.error(span, format!("{subject}is {day}, more than ten years ahead; {}", since(report.terms())));
    }
}

fn since(terms: Terms) -> &'static str {
    terms.pick("it is in nanoseconds since 1970", "it counts from 1970")
}

/// The day of a time since 1970.
fn date(ns: u64) -> impl Display {
    Timestamp::from_nanosecond(ns.into()).unwrap_or_default().strftime("%Y-%m-%d")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_day() {
        // As date(1) has them; no time that the file can hold lies beyond the calendar.
        for (s, is) in [(0, "1970-01-01"), (951_782_399, "2000-02-28"), (951_782_400, "2000-02-29")] {
            assert_eq!(date(s * 1_000_000_000).to_string(), is);
        }
        assert_eq!(date(u64::MAX).to_string(), "2554-07-21");
    }
}
