//! System management interrupts, counted while outliers come: the firmware has all CPUs meanwhile, and the kernel records
//! nothing.
//!
//! Only the processor's counter tells of them, and it has no times. It is read at each look, a fifth of a second apart: a gap
//! between two looks in which the counter grew is named after it.

use std::collections::VecDeque;

use ontick_machine::Root;
use ontick_machine::facts::firmware::smis;

use super::attribute::Window;
use super::cause::Cause;

/// Readings kept: outliers are looked at long before so many have come.
const READINGS: usize = 64;

/// The counter of a CPU, as it was read.
pub struct FirmwareInterrupts {
    root: Root,
    cpu: u32,
    /// Time in ns, and count.
    readings: VecDeque<(u64, u32)>,
}

impl FirmwareInterrupts {
    /// Begins to read the counter of this CPU, if it has one that may be read. Every CPU counts all of them; reading that of
    /// another CPU interrupts it.
    pub fn start(root: Root, cpu: u32, now_ns: u64) -> Option<Self> {
        let mut all = Self { root, cpu, readings: VecDeque::new() };
        all.read(now_ns);
        (!all.readings.is_empty()).then_some(all)
    }

    /// Reads it once more.
    pub fn read(&mut self, now_ns: u64) {
        let Some(count) = smis(&self.root, self.cpu) else { return };
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back((now_ns, count));
    }

    /// The cause of an outlier, whose time is known to have been lost outside the kernel.
    pub fn refine(&self, cause: Cause, window: Window) -> Cause {
        match cause {
            Cause::OutsideTheKernel if self.grew(window) => Cause::FirmwareInterrupt,
            other => other,
        }
    }

    /// Whether it grew from the last reading before a window to the first one after it.
    fn grew(&self, window: Window) -> bool {
        let before = self.readings.iter().rev().find(|(at_ns, _)| *at_ns <= window.deadline_ns);
        let after = self.readings.iter().find(|(at_ns, _)| *at_ns >= window.now_ns);
        before.zip(after).is_some_and(|((_, before), (_, after))| before != after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that stands for a machine, whose CPU 1 has counted so many.
    fn count(folder: &tempfile::TempDir, smis: u32) {
        let place = folder.path().join("dev/cpu/1/msr");
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, [vec![0; 0x34], u64::from(smis).to_le_bytes().to_vec()].concat()).unwrap();
    }

    #[test]
    fn a_gap_is_the_firmwares_where_the_counter_grew_around_it() {
        let folder = tempfile::tempdir().unwrap();
        count(&folder, 7);
        let mut counted = FirmwareInterrupts::start(Root::at(folder.path()).unwrap(), 1, 1_000).unwrap();
        counted.read(2_000);
        count(&folder, 8);
        counted.read(3_000);
        let named = |deadline_ns, now_ns, cause| counted.refine(cause, Window { deadline_ns, now_ns });
        assert_eq!(named(2_100, 2_900, Cause::OutsideTheKernel), Cause::FirmwareInterrupt);
        assert_eq!(named(1_900, 2_100, Cause::OutsideTheKernel), Cause::FirmwareInterrupt);
        assert_eq!(named(1_100, 2_000, Cause::OutsideTheKernel), Cause::OutsideTheKernel, "it grew later");
        assert_eq!(named(2_100, 3_001, Cause::OutsideTheKernel), Cause::OutsideTheKernel, "not read since");
        assert_eq!(named(2_100, 2_900, Cause::TimerTick), Cause::TimerTick);
    }

    #[test]
    fn so_many_readings_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        count(&folder, 0);
        let mut counted = FirmwareInterrupts::start(Root::at(folder.path()).unwrap(), 1, 0).unwrap();
        (1..=READINGS as u64).for_each(|at_ns| counted.read(at_ns));
        assert_eq!((counted.readings.len(), counted.readings[0]), (READINGS, (1, 0)));
    }

    #[test]
    fn without_a_counter_nothing_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FirmwareInterrupts::start(Root::at(folder.path()).unwrap(), 1, 0).is_none());
    }
}
