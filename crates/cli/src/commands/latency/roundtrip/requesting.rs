//! A requester as a measurement: when each answer was there, and the parts of its way.

use std::sync::{Arc, OnceLock};

use ontick_measure::probe::{Probe, Sample};
use ontick_network::Distribution;
use ontick_network::roundtrip::{Monotonic, Parts, Port, Requester, Tally, Trip, Turn};
use ontick_record::run::Settings;
use ontick_record::{Histogram, Series};
use ontick_rt::clock::Clock;

/// The parts of the way, as their series are named.
const NAMES: [&str; 5] = ["sender", "out in kernel", "there and back", "responder", "receiver"];

/// What is known at the end.
pub struct Summary {
    pub tally: Tally,
    parts: [Histogram; 5],
}

pub struct Requesting<P: Port> {
    requester: Requester<P, Monotonic>,
    /// As the settings have them.
    method: &'static str,
    period_ns: u64,
    last: Option<Trip>,
    parts: [Distribution; 5],
    ended: Arc<OnceLock<Summary>>,
}

impl<P: Port> Requesting<P> {
    pub fn new(
        requester: Requester<P, Monotonic>,
        method: &'static str,
        period_ns: u64,
        ended: Arc<OnceLock<Summary>>,
    ) -> Self {
        let parts = std::array::from_fn(|_| Distribution::with_room());
        Self { requester, method, period_ns, last: None, parts, ended }
    }
}

impl<P: Port> Probe for Requesting<P> {
    #[inline]
    fn next(&mut self) -> Sample {
        let rested = |now_ns| Sample { now_ns, latency_ns: None, missed: 0, early_ns: 0, napped: true };
        let period = match self.requester.turn() {
            Turn::Over(period) => period,
            Turn::Rested(now_ns) => return rested(now_ns),
            // Past whatever end the run has.
            Turn::Ended => return rested(u64::MAX),
        };
        self.last = period.trip;
        let missed = period.skipped + u64::from(period.trip.is_none());
        let (now_ns, latency_ns) =
            period.trip.map_or((period.planned_ns, None), |trip| (trip.answered_ns, Some(trip.ns())));
        Sample { now_ns, latency_ns, missed, early_ns: 0, napped: false }
    }

    fn begin(&mut self) {
        self.requester.begin_now();
    }

    /// Each request is one on the wire that somebody may count. Practice has another mark, and is over.
    fn may_practise(&self) -> bool {
        false
    }

    #[inline]
    fn recorded(&mut self) {
        let Some(trip) = self.last else { return };
        self.parts[0].add(trip.sender_ns);
        let Some(Parts { out_ns, there_and_back_ns, responder_ns, receiver_ns }) = trip.parts else { return };
        let times = [out_ns, there_and_back_ns, responder_ns, receiver_ns];
        self.parts[1..].iter_mut().zip(times).for_each(|(part, ns)| part.add(ns));
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(self.requester.time_mut().clock())
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = self.method.into();
        settings.interval_ns = self.period_ns;
        settings.clock = self.requester.time().name();
        settings.margin_ns = self.requester.time().margin();
        self.requester.count_overflowed();
        let parts = std::array::from_fn(|n| self.parts[n].histogram());
        // Nobody asks twice.
        let _ = self.ended.set(Summary { tally: self.requester.tally(), parts });
    }
}

impl Summary {
    /// A series for each part of the way of which anything is known, beside that of the whole.
    pub fn series(&self, whole: &Series) -> Vec<Series> {
        let known = NAMES.into_iter().zip(&self.parts).filter(|(_, part)| part.count() > 0);
        let series = |(name, part): (&str, &Histogram)| Series {
            settings: whole.settings.clone(),
            latency: part.clone(),
            conditions: whole.conditions.clone(),
            ..Series::from(name.to_owned())
        };
        known.map(series).collect()
    }

    /// What a reader must see beside the figures.
    pub fn notes(&self) -> Vec<String> {
        let Tally { answered, refused, changed, strays, overflowed, .. } = self.tally;
        let stamped = self.parts[1].count();
        let unstamped = answered.saturating_sub(stamped);
        let mut notes = Vec::new();
        let mut note = |n: u64, what: &str| {
            if n > 0 {
                notes.push(format!("{n} {what}"));
            }
        };
        note(refused, "requests were not taken by the kernel: no link, or no room");
        note(changed, "answers came with another tag than their request, or shorter, or from another station");
        note(strays, "messages came of another run or another program of this kind, and were passed over");
        note(overflowed, "frames came and found no room: this machine was too slow, not the network");
        if stamped > 0 {
            note(unstamped, "answers lack a stamp of the kernel, and are missing in the parts of the way");
        } else if answered > 0 {
            notes.push("the kernel stamps no frames of this interface as they leave: the way is not divided".into());
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(stamped: u64, tally: Tally) -> Summary {
        let part = |count| {
            let mut part = Histogram::default();
            part.add(1_000, 1, count);
            part
        };
        Summary { tally, parts: [tally.answered, stamped, stamped, stamped, stamped].map(part) }
    }

    #[test]
    fn what_is_amiss_is_said_and_nothing_else() {
        let tally = Tally { sent: 10, answered: 9, ..Tally::default() };
        assert!(ended(9, tally).notes().is_empty());
        let notes = ended(7, Tally { refused: 1, changed: 9, strays: 3, overflowed: 4, ..tally }).notes();
        assert_eq!(notes.len(), 5);
        assert!(notes[4].starts_with("2 answers lack a stamp"), "{notes:?}");
        assert!(ended(0, tally).notes()[0].contains("the way is not divided"));
    }

    #[test]
    fn parts_that_are_not_known_have_no_series() {
        let tally = Tally { answered: 5, ..Tally::default() };
        let names = |ended: Summary| ended.series(&Series::default()).into_iter().map(|s| s.name).collect::<Vec<_>>();
        assert_eq!(names(ended(5, tally)), NAMES);
        assert_eq!(names(ended(0, tally)), ["sender"]);
    }
}
