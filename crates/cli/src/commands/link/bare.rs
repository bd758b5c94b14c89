//! Source 002's own method: bare pulses by usleep, a receiver that is another process and takes interrupts, normal
//! scheduling.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use ontick_gpio::Name;
use ontick_link::Code;
use ontick_link::bare::{BareSender, BareTrial};
use ontick_measure::Placement;
use ontick_rt::clock::ClockId;
use ontick_units::show;
use serde::Serialize;

use super::{ends, pulses, tune};
use crate::failure::Failure;
use crate::itself;

/// Bits that take as long as a frame of 100 ms at 4 kb/s: `--frames` counts these.
pub const BITS_OF_FRAME: u64 = 400;
/// What the article reports.
pub const ARTICLE_BITS_PER_S: f64 = 4_000.0;
/// The receiver ends when no pulse came for so long.
const TIMEOUT: &str = "300ms";
/// The receiver notices the last pulses, and prints them, within this, in ns.
const AFTERWARDS_NS: u64 = 100_000_000;
/// The code, in records and tables.
const CODE: Code = Code::SOURCE_002;

/// What a trial came to.
#[derive(Debug, Clone, Serialize)]
pub struct BareRow {
    pub method: &'static str,
    pub cpus: String,
    pub short_ns: u64,
    pub long_ns: u64,
    pub gap_ns: u64,
    pub subtracted_ns: u64,
    pub bits: u64,
    pub missed_bits: u64,
    pub wrong_bits: u64,
    pub bit_error_rate: f64,
    pub bits_per_s: f64,
    pub source_002_bits_per_s: f64,
    pub backend: &'static str,
}

/// The receiving process; ended with this.
struct Receiver {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Receiver {
    /// Starts it, and waits until it listens.
    fn start(input: &Name) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::new(format!("cannot start the receiving process: {error}"));
        let mut child = itself::command()
            .args(["link", "recv", "--widths", "--cpu", "any", "--policy", "other", "--stock"])
            .args(["--timeout", TIMEOUT, "--input", &input.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let out = child.stdout.take().ok_or_else(|| Failure::new("the receiving process has no output"))?;
        let mut receiver = Self { child, out: BufReader::new(out) };
        let mut head = String::new();
        receiver.out.read_line(&mut head).map_err(failed)?;
        if head.trim_end() != pulses::HEAD {
            return Err(Failure::new("the receiving process ended before it listened"));
        }
        Ok(receiver)
    }

    /// All that it printed, once it ends.
    fn finish(mut self) -> Result<Vec<ontick_link::bare::ReceivedPulse>, Failure> {
        let lines = self.out.by_ref().lines();
        let lines: Result<Vec<String>, _> = lines.collect();
        let lines = lines.map_err(|e| Failure::new(format!("cannot read from the receiving process: {e}")))?;
        Ok(lines.iter().filter_map(|line| pulses::read(line)).collect())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends pseudo-random bits; none begins after `until_ns`.
pub fn run(
    lines: (&Name, &Name),
    bits: u64,
    until_ns: u64,
    cpus: String,
    stop: &AtomicBool,
) -> Result<(BareRow, BareTrial), Failure> {
    let (from, to) = lines;
    if !ends::notifies(to) {
        return Err(Failure::new(format!(
            "line {to} notifies of no edges, and source 002's receiver takes interrupts"
        )));
    }
    let line = ends::output(from)?;
    let backend = line.backend().name();
    let receiver = Receiver::start(to)?;
    let _thread = Placement::stock().setup().best_effort();
    let mut sender = BareSender::calibrated(line, CODE)?;
    let in_time = |_: &bool| ClockId::Monotonic.now_ns() < until_ns;
    let sent = sender.send(random_bits().take(bits as usize).take_while(in_time), stop)?;
    let ended_ns = ClockId::Monotonic.now_ns();
    ClockId::Monotonic.sleep_until(ended_ns + AFTERWARDS_NS);
    let received = receiver.finish()?;
    if stop.load(Ordering::Relaxed) && sent.is_empty() {
        return Err(Failure::new("the trial was ended before a bit was sent"));
    }
    let trial = BareTrial::of(CODE, &sent, ended_ns, &received);
    let row = BareRow {
        method: "usleep, interrupts",
        cpus,
        short_ns: CODE.pulse_ns(0),
        long_ns: CODE.pulse_ns(1),
        gap_ns: CODE.gap_ns(0),
        subtracted_ns: sender.overhead_ns(),
        bits: trial.sent,
        missed_bits: trial.missed,
        wrong_bits: trial.wrong,
        bit_error_rate: trial.errors(),
        bits_per_s: trial.rate(),
        source_002_bits_per_s: ARTICLE_BITS_PER_S,
        backend,
    };
    Ok((row, trial))
}

/// As many ones as zeros, nearly (xorshift64; Marsaglia 2003).
fn random_bits() -> impl Iterator<Item = bool> {
    let mut state = 0x0020_0200_2002_0021u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 63 == 1
    })
}

/// What one trial prints.
pub fn lines(row: &BareRow, (from, to): (&Name, &Name), trial: &BareTrial, note: &str) -> String {
    let BareRow { short_ns, long_ns, gap_ns, subtracted_ns, bits, missed_bits, wrong_bits, .. } = row;
    let mut text = format!("{from} to {to} by source 002's method{note}\n");
    text += "method       usleep, interrupts, normal scheduling, two processes, no frames\n";
    text +=
        &format!("pulses       {} is 0, {} is 1; {} between them\n", show(*short_ns), show(*long_ns), show(*gap_ns));
    text += &format!("overhead     {}, subtracted from each delay (source 002: 70us)\n", show(*subtracted_ns));
    for (bit, widths_ns) in trial.widths_ns.iter().enumerate() {
        text += &format!("received {bit}   {}\n", widths(widths_ns));
    }
    let percent = row.bit_error_rate * 100.0;
    text += &format!("bits         {bits} sent, {missed_bits} missed, {wrong_bits} wrong ({percent:.2} %)\n");
    text + &format!(
        "rate         {}{note} (source 002: {})\n",
        tune::rate(row.bits_per_s),
        tune::rate(ARTICLE_BITS_PER_S)
    )
}

fn widths(widths_ns: &[u64]) -> String {
    let mut sorted = widths_ns.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| sorted.get(((sorted.len().saturating_sub(1)) as f64 * share) as usize).copied();
    match (at(0.01), at(0.5), at(0.99)) {
        (Some(low), Some(median), Some(high)) => {
            format!("p1 {}, p50 {}, p99 {}", show(low), show(median), show(high))
        }
        _ => "none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_half_ones_and_the_same_each_time() {
        let bits: Vec<bool> = random_bits().take(4_000).collect();
        let ones = bits.iter().filter(|bit| **bit).count();
        assert!((1_900..2_100).contains(&ones), "{ones}");
        assert!(bits.iter().copied().eq(random_bits().take(4_000)));
    }
}
