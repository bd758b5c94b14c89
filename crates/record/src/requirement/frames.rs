//! Requirements of frames through a switch: `sent > 95%`, `delivered >= 95%`, `dropped = 0`, `lost < 0.1%`.

use std::fmt;

use super::Compare;
use super::percent::Percent;
use crate::run::Judged;
use crate::switching::{Switching, load::Share};

/// What of the frames is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    /// Those that were sent, of those that were asked for.
    Sent,
    /// Those that arrived, of those that had to.
    Delivered,
    /// Those that the switch dropped, of those that were sent.
    Dropped,
    /// Those that got lost elsewhere, of those that were sent.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    Count(u64),
    Percent(f64),
}

/// Decimals of a share at least: 100.0 is said of all only, and 0.0 of what is less than a thousandth.
const LEAST_PLACES: usize = 1;

/// A requirement of the frames of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FrameRequirement {
    pub(super) frames: Frames,
    compare: Compare,
    limit: Limit,
}

impl Frames {
    pub(super) fn named(text: &str) -> Option<Self> {
        let all = [Frames::Sent, Frames::Delivered, Frames::Dropped, Frames::Lost];
        all.into_iter().find(|frames| frames.name() == text)
    }

    fn name(self) -> &'static str {
        match self {
            Frames::Sent => "sent",
            Frames::Delivered => "delivered",
            Frames::Dropped => "dropped",
            Frames::Lost => "lost",
        }
    }
}

impl FrameRequirement {
    pub(super) fn new(frames: Frames, compare: Compare, limit: &str) -> Result<Self, String> {
        let limit = match limit.strip_suffix('%') {
            Some(number) => match number.trim().parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Limit::Percent(percent),
                _ => return Err(format!("\"{limit}\" is not a share of 0 to 100 percent")),
            },
            None => Limit::Count(
                limit.parse().map_err(|_| format!("\"{limit}\" is neither a whole number nor a percentage"))?,
            ),
        };
        match (limit, compare) {
            (Limit::Count(0) | Limit::Percent(0.0), Compare::Less) => Err("nothing is less than 0".into()),
            (Limit::Percent(100.0), Compare::Greater) => Err("nothing is more than 100%".into()),
            _ => Ok(Self { frames, compare, limit }),
        }
    }

    /// Judges the trial with gates or shaped classes.
    pub(super) fn judge(&self, switching: &Switching) -> Judged {
        let Some(trial) = switching.judged() else {
            return self.unproven("neither gates nor shapers were in force".into());
        };
        let sum = |frames: Frames| match frames {
            Frames::Sent => trial.sum(|class| class.sent),
            Frames::Delivered => trial.sum(|class| class.received),
            Frames::Dropped => trial.sum(|class| class.dropped),
            Frames::Lost => trial.lost(),
        };
        let percent = match self.limit {
            Limit::Percent(percent) => Percent::of(percent),
            Limit::Count(limit) => {
                let count = sum(self.frames);
                let seen = format!("{count} of {}", self.whole(sum(Frames::Sent), trial.is_shaped()));
                return self.judged(&seen, String::new(), self.compare.holds(count, limit));
            }
        };
        let shares = match self.frames {
            Frames::Sent => trial.sent_of_asked(),
            Frames::Delivered => switching.delivered_of_carried(trial),
            Frames::Dropped => {
                let share = |class: &crate::switching::Class| Share {
                    of: class.name.clone(),
                    part: class.dropped,
                    whole: class.sent,
                };
                trial.classes.iter().filter(|class| class.sent > 0).map(share).collect()
            }
            Frames::Lost => match sum(Frames::Sent) {
                0 => Vec::new(),
                whole => vec![Share { of: String::new(), part: trial.lost(), whole }],
            },
        };
        let wants_much = matches!(self.compare, Compare::Greater | Compare::GreaterOrEqual);
        // The one that is farthest from what is wanted decides.
        let badness = |share: &Share| if wants_much { -share.value() } else { share.value() };
        match shares.into_iter().max_by(|a, b| badness(a).total_cmp(&badness(b))) {
            None if self.frames == Frames::Sent => {
                self.unproven("as many as possible were sent, no number was asked for".into())
            }
            None => self.unproven("nothing was sent that could arrive".into()),
            Some(share) => {
                let whole = self.whole(share.whole, trial.is_shaped());
                let shown = percent.shown(self.compare, share.part, share.whole, LEAST_PLACES);
                let met = percent.is_held(self.compare, share.part, share.whole);
                self.judged(&format!("{} of {whole} ({shown} %)", share.part), share.of, met)
            }
        }
    }

    /// What a share is of.
    fn whole(&self, frames: u64, shaped: bool) -> String {
        match self.frames {
            Frames::Sent => format!("{frames} asked for"),
            Frames::Delivered => format!(
                "{frames} that were sent and that {} carry",
                if shaped { "windows and idle slopes" } else { "the windows" }
            ),
            Frames::Dropped | Frames::Lost => format!("{frames} sent"),
        }
    }

    fn judged(&self, seen: &str, series: String, met: bool) -> Judged {
        let unproven = !met && self.frames == Frames::Sent;
        Judged { requirement: self.to_string(), series, observed: seen.into(), met, unproven }
    }

    fn unproven(&self, seen: String) -> Judged {
        Judged { requirement: self.to_string(), series: String::new(), observed: seen, met: false, unproven: true }
    }
}

impl fmt::Display for FrameRequirement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {} ", self.frames.name(), self.compare)?;
        match self.limit {
            Limit::Count(limit) => write!(f, "{limit}"),
            Limit::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Requirement;
    use crate::run::Judged;
    use crate::switching::{Class, Lost, Switching, Trial};

    /// 10 000 frames of each of two classes are asked for; windows carry 40 000 and 10 000 a second.
    fn switching(blue: [u64; 3], red: [u64; 3]) -> Switching {
        let class = |name: &str, windows, [sent, received, dropped]: [u64; 3]| Class {
            name: name.into(),
            octets: 1_230,
            offered: Some(10_000),
            windows,
            sent,
            received,
            dropped,
            ..Class::default()
        };
        let classes = vec![class("blue", vec![(0, 800_000)], blue), class("red", vec![(800_000, 200_000)], red)];
        let trial = Trial { gates: true, duration_ns: 1_000_000_000, classes, ..Trial::default() };
        Switching { rate: 1_000_000_000, cycle_ns: 1_000_000, trials: vec![trial], ..Switching::default() }
    }

    fn judged(requirement: &str, switching: &Switching) -> Judged {
        requirement.parse::<Requirement>().unwrap().judge_frames(switching).unwrap()
    }

    #[test]
    fn a_load_that_was_not_reached_proves_nothing() {
        let all = switching([10_000, 10_000, 0], [600, 600, 0]);
        let low = judged("sent >= 95%", &all);
        assert_eq!((low.met, low.unproven, low.series.as_str()), (false, true, "red"));
        assert_eq!(low.observed, "600 of 10000 asked for (6.0 %)");
        assert!(judged("sent > 5%", &all).met && judged("sent >= 10600", &all).met);
        assert!(!judged("sent > 10600", &all).met);
        // All that was sent came, which is what `delivered` asks for.
        assert!(judged("delivered = 100%", &all).met);
        let mut saturating = all.clone();
        saturating.trials[0].classes.iter_mut().for_each(|class| class.offered = None);
        assert!(judged("sent > 95%", &saturating).unproven);
        assert!(judged("sent > 95%", &Switching::default()).unproven);
    }

    #[test]
    fn dropped_and_lost_are_counted_apart() {
        let mut all = switching([10_000, 9_990, 4], [10_000, 7_800, 2_200]);
        all.trials[0].elsewhere.push(Lost { place: "ring of port a".into(), frames: 6 });
        for (requirement, met, seen) in [
            ("dropped = 0", false, "2204 of 20000 sent"),
            ("dropped < 23%", true, "2200 of 10000 sent (22.0 %)"),
            ("dropped <= 22%", true, "2200 of 10000 sent (22.0 %)"),
            ("dropped < 22%", false, "2200 of 10000 sent (22.0 %)"),
            ("lost = 0", false, "6 of 20000 sent"),
            ("lost < 0.1%", true, "6 of 20000 sent (0.0 %)"),
            ("delivered >= 95%", false, "7800 of 10000 that were sent and that the windows carry (78.0 %)"),
        ] {
            let judged = judged(requirement, &all);
            assert_eq!((judged.met, judged.observed.as_str()), (met, seen), "{requirement}");
            assert!(!judged.unproven, "{requirement}");
        }
        assert_eq!(judged("delivered >= 95%", &all).series, "red");
    }

    #[test]
    fn shares_of_frames_are_compared_as_they_were_written() {
        let mut all = switching([3_000, 0, 0], [1_000, 1_000, 0]);
        for tenths in 1..1_000 {
            all.trials[0].classes[0].dropped = 3 * tenths;
            let percent = format!("{}.{}%", tenths / 10, tenths % 10);
            let met = ["<", "<=", "="].map(|compare| judged(&format!("dropped {compare} {percent}"), &all).met);
            assert_eq!(met, [false, true, true], "{percent}");
        }
        all.trials[0].classes[0] = Class { sent: 100_000, dropped: 22_504, ..all.trials[0].classes[0].clone() };
        for (requirement, met, shown) in [
            ("dropped < 22.5%", false, "(22.5 %)"),
            ("dropped <= 22.5%", false, "(22.504 %)"),
            ("dropped < 22.504%", false, "(22.504 %)"),
            ("dropped < 22.505%", true, "(22.504 %)"),
        ] {
            let judged = judged(requirement, &all);
            assert!(judged.met == met && judged.observed.ends_with(shown), "{requirement}: {judged:?}");
        }
    }

    #[test]
    fn what_is_not_of_frames_is_judged_elsewhere() {
        assert!("max < 3us".parse::<Requirement>().unwrap().judge_frames(&Switching::default()).is_none());
        for (text, word) in [
            ("sent > 101%", "0 to 100"),
            ("sent > 100%", "nothing is more"),
            ("dropped < 0", "nothing is less"),
            ("dropped = some", "neither a whole number nor a percentage"),
            ("max > 3us", "compared with"),
            ("missed > 3", "compared with"),
        ] {
            let error = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        for text in ["sent > 95%", "delivered >= 99.5%", "dropped = 0", "lost <= 3"] {
            assert_eq!(text.parse::<Requirement>().unwrap().to_string(), text);
        }
    }
}
