//! Pulses that the Pico makes itself, through a wire to one of its lines: all must be there, to the tick.

use std::sync::atomic::AtomicBool;

use ontick_pico::{Command, Edge, Message, PULSE_PIN, TICKS_PER_SECOND};

use super::connection::Connection;
use super::request::name;

/// 1 us high and 9 us low, 200 000 edges a second.
const HIGH: u32 = 125;
const LOW: u32 = 1125;
const COUNT: u32 = 500;
/// Edges that they have.
const EXPECTED: usize = 2 * COUNT as usize;
/// After the last status before they were granted, in ticks: a hundredth of a second until the next one, and twice what they
/// take. The command for them may come long after the capture began, where this machine is busy.
const OVER: u64 = TICKS_PER_SECOND as u64 / 100 + (HIGH + LOW) as u64 * COUNT as u64 * 2;

/// What came from it.
#[derive(Default)]
struct Seen {
    edges: Vec<Edge>,
    until: u64,
    lost: u64,
}

impl Seen {
    fn take(&mut self, line: u8, message: &Message) {
        match *message {
            Message::Edges(edges) => {
                // One more than are expected tells as much as many more.
                let room = (EXPECTED + 1).saturating_sub(self.edges.len());
                self.edges.extend(edges.filter(|edge| edge.line == line).take(room));
            }
            Message::Lost(lost) => self.lost += u64::from(lost.edges.unwrap_or(1)),
            Message::Status { until, .. } => self.until = until,
            _ => {}
        }
    }
}

/// Why the Pico does not pass, in words.
pub fn run(pico: &mut Connection, line: u8, cancel: &AtomicBool) -> Result<(), String> {
    let mut seen = Seen::default();
    let pulses = Command::Pulses { high: HIGH, low: LOW, count: COUNT };
    // What comes before the capture has begun is of another one.
    pico.command(Command::Start, cancel, &mut |_| ())?;
    pico.command(pulses, cancel, &mut |message| seen.take(line, message))?;
    let over = seen.until.saturating_add(OVER);
    // Something else than the wire may drive the line without an end.
    while seen.until < over && seen.edges.len() <= EXPECTED {
        pico.listen(cancel, &mut |message| seen.take(line, message))?;
    }
    pico.command(Command::Stop, cancel, &mut |message| seen.take(line, message))?;
    judge(&seen.edges, seen.lost).map_err(|problem| {
        format!("self-test: {problem} (a wire must join GP{PULSE_PIN} to {}, and nothing else)", name(line))
    })
}

fn judge(edges: &[Edge], lost: u64) -> Result<(), String> {
    if edges.len() != EXPECTED || lost > 0 {
        return Err(format!("of {EXPECTED} edges {} came, and {lost} were said to be lost", edges.len()));
    }
    let wrong = edges.windows(2).find(|pair| {
        let ticks = if pair[0].rising { HIGH } else { LOW };
        pair[0].tick + u64::from(ticks) != pair[1].tick || pair[0].rising == pair[1].rising
    });
    match wrong {
        Some([from, to]) => {
            Err(format!("two edges are {} ticks apart, not {HIGH} or {LOW}", to.tick.abs_diff(from.tick)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train() -> Vec<Edge> {
        let edge = |n: u32| Edge { tick: u64::from(n / 2 * (HIGH + LOW) + n % 2 * HIGH), line: 7, rising: n % 2 == 0 };
        (0..2 * COUNT).map(edge).collect()
    }

    #[test]
    fn each_pulse_must_be_there_to_the_tick() {
        assert_eq!(judge(&train(), 0), Ok(()));
        assert!(judge(&train(), 1).is_err());
        assert!(judge(&train()[1..], 0).is_err());
        let mut wide = train();
        wide[301].tick += 1;
        assert!(judge(&wide, 0).unwrap_err().contains("126 ticks"));
        let mut back = train();
        back[301].tick = 0;
        assert!(judge(&back, 0).unwrap_err().contains("187500 ticks apart"));
    }
}
