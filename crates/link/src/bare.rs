//! Bits as bare pulses, without frames, as source 002 sent them: a short pulse is 0, a long one 1; each pulse and each
//! gap is one call of `usleep`, shortened by what such a call takes too long; and the receiver's program reads the
//! clock whenever an interrupt has woken it.

use std::sync::atomic::{AtomicBool, Ordering};

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::{Clock, ClockId, sleep_for};

use crate::code::Code;

/// Pulses that show how much too long a delay is.
const CALIBRATION: usize = 200;

/// A pulse that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPulse {
    /// Just before its rising edge was made, in ns.
    pub rise_ns: u64,
    /// The bit that it stands for.
    pub bit: bool,
}

/// A pulse that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedPulse {
    /// The time stamp of its rising edge, in ns.
    pub rise_ns: u64,
    /// From one reading of the clock to the next, each after an edge had woken the program, in ns.
    pub width_ns: u64,
}

/// A sender of bare pulses.
#[derive(Debug)]
pub struct BareSender {
    line: Line,
    code: Code,
    clock: Clock,
    /// Subtracted from every delay, in ns.
    overhead_ns: u64,
}

impl BareSender {
    /// Finds out by trying how much too long delays are: half of them by more.
    pub fn calibrated(line: Line, code: Code) -> Result<Self, Gone> {
        let mut sender = Self { line, code, clock: Clock::new(ClockId::Monotonic), overhead_ns: 0 };
        let mut over = Vec::with_capacity(CALIBRATION);
        for _ in 0..CALIBRATION {
            let before_ns = sender.clock.now_ns();
            sender.pulse(false)?;
            let took_ns = sender.clock.now_ns().saturating_sub(before_ns);
            over.push(took_ns.saturating_sub(code.pulse_ns(0) + code.gap_ns(0)) / 2);
        }
        over.sort_unstable();
        sender.overhead_ns = over[over.len() / 2];
        Ok(sender)
    }

    /// What is subtracted from every delay, in ns.
    pub fn overhead_ns(&self) -> u64 {
        self.overhead_ns
    }

    /// Sends these bits; fewer if `stop` is set.
    pub fn send(&mut self, bits: impl Iterator<Item = bool>, stop: &AtomicBool) -> Result<Vec<SentPulse>, Gone> {
        let mut sent = Vec::new();
        for bit in bits.take_while(|_| !stop.load(Ordering::Relaxed)) {
            sent.push(SentPulse { rise_ns: self.clock.now_ns(), bit });
            self.pulse(bit)?;
        }
        Ok(sent)
    }

    fn pulse(&mut self, bit: bool) -> Result<(), Gone> {
        self.line.write(true)?;
        self.usleep(self.code.pulse_ns(bit.into()));
        self.line.write(false)?;
        self.usleep(self.code.gap_ns(0));
        Ok(())
    }

    /// usleep(3) is nanosleep(2) of whole microseconds.
    fn usleep(&self, ns: u64) {
        sleep_for(ns.saturating_sub(self.overhead_ns).div_ceil(1_000) * 1_000);
    }
}

/// Takes pulses from a line that was asked for with both edges. `None`: none came until the deadline.
#[derive(Debug, Default)]
pub struct BareReceiver {
    rise: Option<(u64, u64)>,
}

impl BareReceiver {
    /// The next pulse.
    pub fn next(&mut self, line: &mut Line, deadline_ns: u64) -> Result<Option<ReceivedPulse>, Gone> {
        while let Some(edge) = line.edge(deadline_ns)? {
            if let Some(pulse) = self.take(edge.rising, edge.time_ns, ClockId::Monotonic.now_ns()) {
                return Ok(Some(pulse));
            }
        }
        Ok(None)
    }

    fn take(&mut self, rising: bool, stamp_ns: u64, now_ns: u64) -> Option<ReceivedPulse> {
        if rising {
            self.rise = Some((stamp_ns, now_ns));
            return None;
        }
        let (rise_ns, woken_ns) = self.rise.take()?;
        Some(ReceivedPulse { rise_ns, width_ns: now_ns.saturating_sub(woken_ns) })
    }
}

/// What became of the bits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BareTrial {
    /// Bits that were sent.
    pub sent: u64,
    /// Those whose pulse did not arrive.
    pub missed: u64,
    /// Those that arrived as the other bit.
    pub wrong: u64,
    /// From the first rising edge to the end of the last gap, in ns.
    pub busy_ns: u64,
    /// How wide the pulses of each bit arrived, in ns.
    pub widths_ns: [Vec<u64>; 2],
}

impl BareTrial {
    /// Takes each pulse that arrived for the last one sent before: time stamps of one machine are of one clock.
    /// `ended_ns` is when the last gap was over.
    pub fn of(code: Code, sent: &[SentPulse], ended_ns: u64, received: &[ReceivedPulse]) -> Self {
        let Some(first) = sent.first() else { return Self::default() };
        let mut trial =
            Self { sent: sent.len() as u64, busy_ns: ended_ns.saturating_sub(first.rise_ns), ..Self::default() };
        let border_ns = code.pulse_ns(0) + code.step_ns / 2;
        let mut came = vec![None; sent.len()];
        for pulse in received {
            let after = sent.partition_point(|sent| sent.rise_ns <= pulse.rise_ns);
            if let Some(came) = after.checked_sub(1).and_then(|n| came.get_mut(n)) {
                came.get_or_insert(pulse.width_ns);
            }
        }
        for (sent, came) in sent.iter().zip(came) {
            match came {
                None => trial.missed += 1,
                Some(width_ns) => {
                    trial.wrong += u64::from((width_ns > border_ns) != sent.bit);
                    trial.widths_ns[usize::from(sent.bit)].push(width_ns);
                }
            }
        }
        trial
    }

    /// Bits per second that were sent.
    pub fn rate(&self) -> f64 {
        if self.busy_ns == 0 { 0.0 } else { self.sent as f64 * 1e9 / self.busy_ns as f64 }
    }

    /// Share of the bits that did not arrive as they were sent.
    pub fn errors(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { (self.missed + self.wrong) as f64 / self.sent as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the bits are ones; each pulse takes its width and the gap.
    fn train(count: u64) -> (Vec<SentPulse>, u64) {
        let mut at_ns = 5_000_000;
        let pulses = (0..count).map(|n| {
            let pulse = SentPulse { rise_ns: at_ns, bit: n % 2 == 1 };
            at_ns += Code::SOURCE_002.pulse_ns(pulse.bit.into()) + Code::SOURCE_002.gap_ns(0);
            pulse
        });
        (pulses.collect(), at_ns)
    }

    fn arrived(sent: &[SentPulse], late_ns: u64, longer_ns: u64) -> Vec<ReceivedPulse> {
        let width_ns = |bit: bool| Code::SOURCE_002.pulse_ns(bit.into()) + longer_ns;
        sent.iter().map(|s| ReceivedPulse { rise_ns: s.rise_ns + late_ns, width_ns: width_ns(s.bit) }).collect()
    }

    /// What source 002 reports, without any error: 4 kb/s.
    #[test]
    fn exact_pulses_of_source_002_carry_4_kb_per_s() {
        let (sent, ended_ns) = train(4_000);
        let trial = BareTrial::of(Code::SOURCE_002, &sent, ended_ns, &arrived(&sent, 3_000, 0));
        assert_eq!((trial.sent, trial.missed, trial.wrong, trial.errors()), (4_000, 0, 0, 0.0));
        assert_eq!((trial.busy_ns, trial.rate()), (1_000_000_000, 4_000.0));
        assert_eq!(trial.widths_ns, [vec![100_000; 2_000], vec![200_000; 2_000]]);
    }

    #[test]
    fn a_pulse_is_the_other_bit_where_it_is_off_by_half_a_step() {
        let (sent, ended_ns) = train(100);
        let wrong = |longer_ns| BareTrial::of(Code::SOURCE_002, &sent, ended_ns, &arrived(&sent, 0, longer_ns)).wrong;
        assert_eq!([wrong(0), wrong(50_000), wrong(50_001)], [0, 0, 50]);
    }

    #[test]
    fn missed_pulses_do_not_shift_those_after_them() {
        let (sent, ended_ns) = train(100);
        let mut came = arrived(&sent, 20_000, 0);
        came.remove(41);
        came.remove(40);
        // Those of the calibration came before the first.
        came.insert(0, ReceivedPulse { rise_ns: sent[0].rise_ns - 1, width_ns: 300_000 });
        let trial = BareTrial::of(Code::SOURCE_002, &sent, ended_ns, &came);
        assert_eq!((trial.sent, trial.missed, trial.wrong), (100, 2, 0));
        assert_eq!(trial.errors(), 0.02);
        let none = BareTrial::of(Code::SOURCE_002, &[], ended_ns, &came);
        assert_eq!((none.rate(), none.errors()), (0.0, 0.0), "nothing was sent");
    }

    #[test]
    fn a_fall_without_its_rise_is_no_pulse() {
        let mut receiver = BareReceiver::default();
        assert_eq!(receiver.take(false, 10, 12), None);
        assert_eq!(receiver.take(true, 20, 25), None);
        assert_eq!(receiver.take(false, 120, 127), Some(ReceivedPulse { rise_ns: 20, width_ns: 102 }));
        assert_eq!(receiver.take(false, 140, 147), None);
    }
}
