//! What load a switch was under and how much of it came out: sent of what was asked for, delivered of what the windows
//! carry.

use super::{Class, Shaped, Switching, Trial};

/// Bits of preamble, start delimiter and gap around each frame on the link.
const AROUND: u64 = 20;

/// Frames that came about, out of those that were to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The class, or several whose windows overlap.
    pub of: String,
    /// Frames that came about.
    pub part: u64,
    /// Frames that were to.
    pub whole: u64,
}

impl Share {
    /// 0 to 1.
    pub fn value(&self) -> f64 {
        self.part as f64 / self.whole.max(1) as f64
    }
}

impl Trial {
    /// Frames of each class that were sent, of those that were asked for; nothing of classes of which as many as possible
    /// were sent.
    pub fn sent_of_asked(&self) -> Vec<Share> {
        let asked = |class: &Class| {
            let frames = u128::from(class.offered?) * u128::from(self.duration_ns) / 1_000_000_000;
            Some(Share { of: class.name.clone(), part: class.sent, whole: frames.max(1) as u64 })
        };
        self.classes.iter().filter_map(asked).collect()
    }

    /// Frames that were sent, did not arrive, and were not dropped by the switch: they were lost on the way to it or
    /// behind it, or nobody knows where.
    pub fn lost(&self) -> u64 {
        let arrived = self.sum(|class| class.received).saturating_add(self.sum(|class| class.dropped));
        self.sum(|class| class.sent).saturating_sub(arrived)
    }
}

impl Switching {
    /// Frames that arrived, of those that had to: all that were sent, but not more than their windows carry, and of a shaped
    /// class not more than its idle slope. Classes whose windows overlap share them, and are one.
    pub fn delivered_of_carried(&self, trial: &Trial) -> Vec<Share> {
        let cycles = trial.duration_ns.checked_div(self.cycle_ns).unwrap_or(0);
        let of_group = |group: &Vec<&Class>| {
            let frame_ns = group.iter().map(|class| self.frame_ns(class)).max().unwrap_or(1);
            let windows = group.iter().flat_map(|class| class.windows.iter().copied()).collect();
            let carried = |windows: Vec<(u64, u64)>| self.per_cycle(windows, frame_ns).saturating_mul(cycles);
            let alone = |class: &&Class| {
                let sloped = |shaped: &Shaped| shaped.carries(wire_bits(class), trial.duration_ns);
                class.sent.min(carried(class.windows.clone())).min(class.shaped.as_ref().map_or(u64::MAX, sloped))
            };
            let together = group.iter().map(alone).fold(0, u64::saturating_add);
            let names: Vec<&str> = group.iter().map(|class| class.name.as_str()).collect();
            Share {
                of: names.join(" and "),
                part: group.iter().map(|class| class.received).fold(0, u64::saturating_add),
                whole: together.min(carried(windows)),
            }
        };
        groups(&trial.classes).iter().map(of_group).filter(|share| share.whole > 0).collect()
    }

    /// How long a frame takes on the link, with what is around it.
    fn frame_ns(&self, class: &Class) -> u64 {
        (u128::from(wire_bits(class)) * 1_000_000_000 / u128::from(self.rate.max(1))).clamp(1, u128::from(u64::MAX))
            as u64
    }

    /// Whole frames that fit into the windows of a cycle, which may overlap.
    fn per_cycle(&self, mut windows: Vec<(u64, u64)>, frame_ns: u64) -> u64 {
        windows.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from_ns, length_ns) in windows {
            let until_ns = from_ns.saturating_add(length_ns);
            match joined.last_mut() {
                Some(last) if from_ns <= last.1 => last.1 = last.1.max(until_ns),
                _ => joined.push((from_ns, until_ns)),
            }
        }
        let fit = |(from_ns, until_ns): &(u64, u64)| (until_ns - from_ns).saturating_sub(self.closed_ns) / frame_ns;
        joined.iter().map(fit).fold(0, u64::saturating_add)
    }
}

/// Bits of a frame on the link, with what is around it.
fn wire_bits(class: &Class) -> u64 {
    (u64::from(class.octets) + AROUND) * 8
}

/// Classes with a window in common are together, also by way of a third one.
fn groups(classes: &[Class]) -> Vec<Vec<&Class>> {
    let meet = |a: &(u64, u64), b: &(u64, u64)| a.0 < b.0.saturating_add(b.1) && b.0 < a.0.saturating_add(a.1);
    let share = |a: &Class, b: &Class| a.windows.iter().any(|of_a| b.windows.iter().any(|of_b| meet(of_a, of_b)));
    let mut groups: Vec<Vec<&Class>> = Vec::new();
    for class in classes {
        let (with, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group: &Vec<&Class>| group.iter().any(|other| share(other, class)));
        groups = others;
        groups.push(with.into_iter().flatten().chain([class]).collect());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, windows: &[(u64, u64)], sent: u64, received: u64) -> Class {
        Class {
            name: name.into(),
            octets: 1_518,
            offered: Some(20_000),
            windows: windows.to_vec(),
            sent,
            received,
            ..Class::default()
        }
    }

    fn of(classes: Vec<Class>) -> Switching {
        let trial = Trial { gates: true, duration_ns: 1_000_000_000, classes, ..Trial::default() };
        Switching { rate: 1_000_000_000, cycle_ns: 1_000_000, trials: vec![trial], ..Switching::default() }
    }

    fn delivered(switching: &Switching) -> Vec<(String, u64, u64)> {
        let all = switching.delivered_of_carried(&switching.trials[0]);
        all.into_iter().map(|share| (share.of, share.part, share.whole)).collect()
    }

    /// 65 and 16 whole frames of 12 304 ns fit into 800 and 200 us.
    #[test]
    fn no_more_has_to_arrive_than_was_sent_or_than_the_windows_carry() {
        let windows = |sent, received| {
            of(vec![class("blue", &[(0, 800_000)], 900, 900), class("red", &[(800_000, 200_000)], sent, received)])
        };
        assert_eq!(delivered(&windows(100, 78)), [("blue".into(), 900, 900), ("red".into(), 78, 100)]);
        assert_eq!(delivered(&windows(90_000, 15_900))[1], ("red".into(), 15_900, 16_000));
        let mut guarded = windows(90_000, 15_900);
        guarded.closed_ns = 12_304;
        assert_eq!(delivered(&guarded)[1].2, 15_000);
    }

    #[test]
    fn classes_that_share_a_window_are_one() {
        let all = of(vec![
            class("a", &[(0, 100_000)], 5_000, 5_000),
            class("b", &[(500_000, 500_000)], 90_000, 39_000),
            class("c", &[(500_000, 500_000)], 90_000, 1_000),
        ]);
        assert_eq!(delivered(&all), [("a".into(), 5_000, 5_000), ("b and c".into(), 40_000, 40_000)]);
        // One that sends nothing lends its own windows to nobody.
        let all = of(vec![class("b", &[(0, 500_000)], 0, 0), class("c", &[(0, 100_000)], 90_000, 8_000)]);
        assert_eq!(delivered(&all), [("b and c".into(), 8_000, 8_000)]);
    }

    /// Frames of 12 304 bits: 20 Mbit/s are 1 625 of them in a second.
    #[test]
    fn no_more_has_to_arrive_than_the_idle_slope_carries() {
        let shaped = Some(Shaped { idle_slope: 20_000_000, ..Shaped::default() });
        let audio = Class { shaped, ..class("audio", &[(0, 1_000_000)], 5_000, 1_620) };
        assert_eq!(delivered(&of(vec![audio.clone()])), [("audio".into(), 1_620, 1_625)]);
        // Another one has what it leaves.
        let rest = class("rest", &[(0, 1_000_000)], 90_000, 79_000);
        assert_eq!(delivered(&of(vec![audio, rest])), [("audio and rest".into(), 80_620, 81_000)]);
    }

    #[test]
    fn what_was_asked_for_is_known_unless_it_was_as_much_as_goes() {
        let mut all = of(vec![class("a", &[], 5_000, 4_000), class("b", &[], 20_000, 20_000)]);
        all.trials[0].classes[0].dropped = 300;
        let sent = all.trials[0].sent_of_asked();
        assert_eq!((sent[0].part, sent[0].whole, sent[0].value()), (5_000, 20_000, 0.25));
        assert_eq!(all.trials[0].lost(), 700);
        all.trials[0].classes[0].offered = None;
        assert_eq!(all.trials[0].sent_of_asked().len(), 1);
    }
}
