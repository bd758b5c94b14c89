//! A round trip, and the parts of its way.
//!
//! ```text
//!  planned    handed over       left                              came           answered
//!     ├─ sender ─┼─ out in kernel ─┼─ there and back + responder ────┼─ receiver ─────┤
//! ```
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// Stamps and the clock are read one after the other: so far they may be apart, in ns.
const READING_NS: u64 = 1_000;

/// A request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trip {
    /// When it was to be sent, in ns.
    pub planned_ns: u64,
    /// When the program had the answer, in ns.
    pub answered_ns: u64,
    /// From when it was to be sent until it was handed over, in ns.
    pub sender_ns: u64,
    /// The other parts, where the kernel stamped both ways.
    pub parts: Option<Parts>,
}

/// Parts of the way, which sum up to the round trip together with the sender's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// From the handing over until its driver had it.
    pub out_ns: u64,
    /// From there until the answer was with this kernel, without the responder's part.
    pub there_and_back_ns: u64,
    /// From the responder's kernel until its program handed the answer over.
    pub responder_ns: u64,
    /// From this kernel until this program had the answer.
    pub receiver_ns: u64,
}

/// What others say of the way, on the clock of the requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WayStamps {
    /// When the request left.
    pub left_ns: Option<u64>,
    /// When the answer came.
    pub came_ns: Option<u64>,
    /// How long the request was with the responder, by its own clock.
    pub resided_ns: u64,
}

impl Trip {
    /// Of its times. Stamps that contradict them, as after the clock was set, are left out.
    #[inline]
    pub fn new(planned_ns: u64, handed_ns: u64, answered_ns: u64, stamped: WayStamps) -> Self {
        let within = |at_ns: u64, from_ns: u64, until_ns: u64| {
            let is_near = at_ns.saturating_add(READING_NS) >= from_ns && at_ns <= until_ns.saturating_add(READING_NS);
            (is_near && from_ns <= until_ns).then(|| at_ns.clamp(from_ns, until_ns))
        };
        let parts = || {
            let left_ns = within(stamped.left_ns?, handed_ns, answered_ns)?;
            let came_ns = within(stamped.came_ns?, left_ns, answered_ns)?;
            Some(Parts {
                out_ns: left_ns - handed_ns,
                there_and_back_ns: (came_ns - left_ns).checked_sub(stamped.resided_ns)?,
                responder_ns: stamped.resided_ns,
                receiver_ns: answered_ns - came_ns,
            })
        };
        Self { planned_ns, answered_ns, sender_ns: handed_ns.saturating_sub(planned_ns), parts: parts() }
    }

    /// From when the request was to be sent until the program had the answer, in ns.
    pub fn ns(&self) -> u64 {
        self.answered_ns.saturating_sub(self.planned_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trip(left_ns: u64, came_ns: u64, resided_ns: u64) -> Trip {
        Trip::new(1_000, 1_300, 9_000, WayStamps { left_ns: Some(left_ns), came_ns: Some(came_ns), resided_ns })
    }

    #[test]
    fn a_way_has_its_parts() {
        let parts = Parts { out_ns: 700, there_and_back_ns: 4_400, responder_ns: 2_000, receiver_ns: 600 };
        assert_eq!((trip(2_000, 8_400, 2_000).parts, trip(2_000, 8_400, 2_000).sender_ns), (Some(parts), 300));
        // Read one after the other.
        assert_eq!(trip(400, 9_900, 0).parts.map(|parts| (parts.out_ns, parts.receiver_ns)), Some((0, 0)));
        // As after the clock was set, or with a responder that claims more than the way took.
        for (left_ns, came_ns, resided_ns) in [(200, 8_400, 0), (2_000, 10_500, 0), (2_000, 8_400, 7_000)] {
            assert_eq!(trip(left_ns, came_ns, resided_ns).parts, None);
        }
        let none = WayStamps { left_ns: None, came_ns: Some(8_400), resided_ns: 0 };
        assert_eq!((Trip::new(1_000, 1_300, 9_000, none).parts, trip(0, 0, 0).ns()), (None, 8_000));
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole(times: [u32; 6]) {
            let [planned, handed, answered, left, came, resided] = times.map(u64::from);
            let stamped = WayStamps { left_ns: Some(left), came_ns: Some(came), resided_ns: resided };
            let trip = Trip::new(planned, planned + handed, planned + handed + answered, stamped);
            if let Some(parts) = trip.parts {
                let Parts { out_ns, there_and_back_ns, responder_ns, receiver_ns } = parts;
                prop_assert_eq!(trip.sender_ns + out_ns + there_and_back_ns + responder_ns + receiver_ns, trip.ns());
            }
        }
    }
}
