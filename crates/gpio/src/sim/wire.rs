//! Wires between the lines of a simulated chip.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::chip;
use super::page::{Chip, LINES};
use super::track::{COUNT_MASK, Mark};
use crate::{Error, Name};

/// How a wire passes edges on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// An edge arrives this much later, in ns.
    pub delay_ns: u32,
    /// And by up to this much more, different for every edge, in ns.
    pub jitter_ns: u32,
    /// An edge that follows another within this time raises no notification; polling still sees it, in ns.
    pub dead_time_ns: u32,
    /// So many of a million pulses are swallowed: a pulse is a time high, and both its edges are missing then.
    pub loss_ppm: u32,
}

impl Wire {
    /// Whether an edge needs time to pass.
    pub(super) fn takes_time(self) -> bool {
        self.delay_ns | self.jitter_ns != 0
    }

    /// The longest that an edge may need, in ns.
    pub(super) fn latest_ns(self) -> u64 {
        u64::from(self.delay_ns) + u64::from(self.jitter_ns)
    }

    /// Whether the pulse that an edge begins or ends does not come through. That follows from the edge's count, so that
    /// whoever looks at it, by polling or by notification, misses the same ones.
    pub(super) fn swallows(self, count: u32) -> bool {
        self.loss_ppm != 0 && {
            let risen = if count % 2 == 1 { count } else { count.wrapping_sub(1) & COUNT_MASK as u32 };
            scatter(!risen) % 1_000_000 < self.loss_ppm.into()
        }
    }

    /// The level after an edge, as it comes through.
    pub(super) fn level(self, mark: Mark) -> bool {
        mark.level() && !self.swallows(mark.count())
    }

    /// When an edge comes through, in ns, if none before it is later.
    pub(super) fn arrival_ns(self, mark: Mark, now_ns: u64) -> u64 {
        let jitter_ns = match self.jitter_ns {
            0 => 0,
            // Whoever looks at the same edge must see the same jitter: it comes from the edge's count.
            most => scatter(mark.count()) % (u64::from(most) + 1),
        };
        mark.time_ns(now_ns) + u64::from(self.delay_ns) + jitter_ns
    }
}

/// Any number to one that looks like chance (the finaliser of SplitMix64; Steele, Lea and Flood 2014).
fn scatter(n: u32) -> u64 {
    let mut z = (u64::from(n) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Joins two lines of one chip: whichever is driven, the other reads. A line may feed several others; it
/// listens to one.
pub fn wire(from: &Name, to: &Name, wire: Wire) -> Result<(), Error> {
    let (chip, from_line, to_line) = ends(from, to)?;
    chip::check_line(to, chip, to_line)?;
    let page = chip::open_for(from, chip, from_line)?;
    listen(page.chip(), to_line, from_line, wire);
    // The other way too, for wires that are driven from either end, unless that end listens elsewhere.
    if page.chip().setup[from_line as usize].source.load(Acquire) == 0 {
        listen(page.chip(), from_line, to_line, wire);
    }
    Ok(())
}

/// Takes a line off its wires.
pub fn unwire(line: &Name) -> Result<(), Error> {
    let Name::Sim { chip, line: number } = line else { return Err(not_simulated(line)) };
    chip::check_line(line, chip, *number)?;
    let page = chip::open_existing(chip)?;
    for (other, setup) in (0..LINES).zip(&page.chip().setup) {
        if other == *number || setup.source.load(Acquire) == number + 1 {
            setup.source.store(0, Release);
        }
    }
    Ok(())
}

/// Every wire of a chip: from, to, how.
pub fn wires(chip: &str) -> Result<Vec<(u32, u32, Wire)>, Error> {
    let page = chip::open(chip)?;
    let all = (0..LINES).filter_map(|line| of(page.chip(), line).map(|(source, wire)| (source, line, wire)));
    Ok(all.collect())
}

/// The wire that a line listens to, and the line at its other end.
pub(super) fn of(chip: &Chip, line: u32) -> Option<(u32, Wire)> {
    let setup = &chip.setup[line as usize];
    let source = setup.source.load(Acquire).checked_sub(1).filter(|source| *source < LINES)?;
    let wire = Wire {
        delay_ns: setup.delay_ns.load(Relaxed),
        jitter_ns: setup.jitter_ns.load(Relaxed),
        dead_time_ns: setup.dead_time_ns.load(Relaxed),
        loss_ppm: setup.loss_ppm.load(Relaxed),
    };
    Some((source, wire))
}

fn listen(chip: &Chip, line: u32, source: u32, wire: Wire) {
    let setup = &chip.setup[line as usize];
    setup.delay_ns.store(wire.delay_ns, Relaxed);
    setup.jitter_ns.store(wire.jitter_ns, Relaxed);
    setup.dead_time_ns.store(wire.dead_time_ns, Relaxed);
    setup.loss_ppm.store(wire.loss_ppm, Relaxed);
    setup.source.store(source + 1, Release);
}

fn ends<'a>(from: &'a Name, to: &'a Name) -> Result<(&'a str, u32, u32), Error> {
    let Name::Sim { chip, line: from_line } = from else { return Err(not_simulated(from)) };
    let Name::Sim { chip: to_chip, line: to_line } = to else { return Err(not_simulated(to)) };
    let refuse = |why: &str| Err(Error::NotFound { name: to.clone(), why: why.into() });
    if chip != to_chip {
        return refuse("a simulated wire joins two lines of one chip");
    }
    if from_line == to_line {
        return refuse("a wire needs two different lines");
    }
    Ok((chip, *from_line, *to_line))
}

fn not_simulated(name: &Name) -> Error {
    Error::NotFound {
        name: name.clone(),
        why: "only simulated lines are wired by command; join real ones with a cable".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole pulses, about as many as asked for, and not in rows.
    #[test]
    fn a_share_of_the_pulses_is_swallowed() {
        let wire = Wire { loss_ppm: 10_000, ..Wire::default() };
        let mask = COUNT_MASK as u32;
        let pulses = (1..=mask).step_by(2);
        assert!(pulses.clone().all(|risen| wire.swallows(risen) == wire.swallows((risen + 1) & mask)));
        let swallowed: Vec<u32> = pulses.filter(|risen| wire.swallows(*risen)).collect();
        let pulses = (mask / 2 + 1) as f64;
        assert!((swallowed.len() as f64 / pulses - 0.01).abs() < 0.001, "{} of {pulses}", swallowed.len());
        let neighbours = swallowed.windows(2).filter(|pair| pair[1] - pair[0] == 2).count();
        assert!(neighbours * 50 < swallowed.len(), "{neighbours} of {}", swallowed.len());
        assert!(!Wire::default().swallows(1));
        assert!((0..100).all(|count| Wire { loss_ppm: 1_000_000, ..Wire::default() }.swallows(count)));
    }
}
