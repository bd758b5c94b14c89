//! A short stretch of requests, one of many: what a service measures now and then.

use ontick_record::Histogram;
use ontick_record::run::RoundTrips;

use super::port::Port;
use super::requester::{NoAnswer, Requester, Turn};
use super::tally::Tally;
use super::timebase::Timebase;
use crate::distribution::Distribution;

/// Requests before those that count: they bring code and data into the caches.
const PRACTICE: u64 = 10;

/// What a stretch brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// From when each request was to be sent until its answer was there.
    pub round_trips: Histogram,
    /// Periods without an answer.
    pub missed: u64,
    /// What became of the requests.
    pub tally: Tally,
}

/// Sends the requests of a job, once somebody has answered, and takes their answers.
pub fn measure_stretch<P: Port, T: Timebase>(
    requester: &mut Requester<P, T>,
    patience_ns: u64,
) -> Result<Stretch, NoAnswer> {
    let (mut round_trips, mut missed) = (Distribution::with_room(), 0);
    requester.begin_after(PRACTICE, patience_ns)?;
    loop {
        match requester.turn() {
            Turn::Over(period) => {
                missed += period.skipped + u64::from(period.trip.is_none());
                period.trip.iter().for_each(|trip| round_trips.add(trip.ns()));
            }
            Turn::Rested(_) => {}
            Turn::Ended => break,
        }
    }
    requester.count_overflowed();
    Ok(Stretch { round_trips: round_trips.histogram(), missed, tally: requester.tally() })
}

impl Tally {
    /// As records have it.
    pub fn record(&self, link: String, responder: String, deadline_ns: u64) -> RoundTrips {
        RoundTrips {
            link,
            responder,
            deadline_ns,
            sent: self.sent,
            answered: self.answered,
            late: self.late,
            skipped: self.skipped,
            refused: self.refused,
            overdue: self.overdue,
            duplicates: self.duplicates,
            out_of_order: self.out_of_order,
        }
    }
}
