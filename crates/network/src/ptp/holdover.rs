//! When the network's time is lost for gates, and when it is good again.

/// Judges readings of the time, one after the other.
#[derive(Debug)]
pub struct Holdover {
    holdover_ns: u64,
    good_readings: u32,
    last_good_ns: u64,
    lost: bool,
    /// Good readings since the last bad one, while it is lost.
    good: u32,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The time was not good for longer than the holdover.
    Lost,
    /// It is good again.
    Good,
}

impl Holdover {
    /// The time is taken for good at first: a node that has just begun has as long to find it.
    pub fn new(holdover_ns: u64, good_readings: u32, now_ns: u64) -> Self {
        Self { holdover_ns, good_readings, last_good_ns: now_ns, lost: false, good: 0 }
    }

    /// Whether the time is lost.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// A good reading, a bad one, or none. That there are none for long is a loss, too.
    pub fn update(&mut self, now_ns: u64, reading: Option<bool>) -> Option<Verdict> {
        match reading {
            Some(true) => {
                self.last_good_ns = now_ns;
                self.good = self.good.saturating_add(1);
            }
            Some(false) => self.good = 0,
            None => {}
        }
        let is_old = now_ns.saturating_sub(self.last_good_ns) > self.holdover_ns;
        if is_old {
            self.good = 0;
        }
        match self.lost {
            false if is_old => {
                self.lost = true;
                Some(Verdict::Lost)
            }
            true if self.good >= self.good_readings => {
                self.lost = false;
                Some(Verdict::Good)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_lost_after_the_holdover_and_good_after_its_readings() {
        let mut time = Holdover::new(100, 3, 0);
        assert_eq!(time.update(100, Some(false)), None);
        assert_eq!(time.update(101, None), Some(Verdict::Lost));
        assert_eq!([110, 120].map(|at| time.update(at, Some(true))), [None, None]);
        assert_eq!(time.update(130, Some(false)), None, "they count anew");
        assert_eq!([140, 150].map(|at| time.update(at, Some(true))), [None, None]);
        assert_eq!(time.update(155, None), None);
        assert_eq!((time.update(160, Some(true)), time.is_lost()), (Some(Verdict::Good), false));
        // A good one in between.
        assert_eq!([200, 250, 260].map(|at| time.update(at, Some(at == 250))), [None, None, None]);
        assert_eq!(time.update(351, Some(false)), Some(Verdict::Lost));
        assert_eq!(time.update(400, Some(false)), None, "once");
    }

    #[test]
    fn readings_that_stay_away_are_a_loss_and_begin_anew() {
        let mut time = Holdover::new(100, 2, 0);
        assert_eq!(time.update(50, Some(true)), None);
        assert_eq!([150, 151].map(|at| time.update(at, None)), [None, Some(Verdict::Lost)]);
        assert_eq!(time.update(160, Some(true)), None);
        assert_eq!(time.update(300, None), None);
        assert_eq!(time.update(310, Some(true)), None, "the one before was long ago");
        assert_eq!(time.update(320, Some(true)), Some(Verdict::Good));
    }
}
