//! What a wire can do: pseudo-random frames through it, and what became of them.

use std::sync::atomic::{AtomicBool, Ordering};

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::ClockId;
use ontick_rt::thread::Setup;

use crate::decode::Heard;
use crate::eye::Eye;
use crate::frame::{Frame, Kind};
use crate::receiver::{By, Receiver};
use crate::sender::Sender;
use crate::setting::Setting;

/// After the last frame so long is waited for what is still on its way, in ns.
const AFTERWARDS_NS: u64 = 200_000_000;

/// The two ends.
#[derive(Debug)]
pub struct Ends {
    /// An output, and what the thread that drives it asks for.
    pub from: (Line, Setup),
    /// An input, and what the thread that looks at it asks for.
    pub to: (Line, Setup),
    /// How it looks.
    pub by: By,
}

/// What became of the frames.
#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that arrived whole.
    pub arrived: u64,
    /// Blocks of the frames whose number came, parity among them, and how many of those did not come.
    pub blocks: u64,
    /// Those that did not.
    pub blocks_lost: u64,
    /// Bits of the blocks that came, and how many of them were wrong before parity.
    pub bits: u64,
    /// Wrong ones.
    pub wrong_bits: u64,
    /// Blocks that parity replaced.
    pub mended: u64,
    /// Symbols that the sender took back and sent again, as it noticed that it was late.
    pub cancelled: u64,
    /// Blocks that it sent again, as it noticed that too late.
    pub again: u64,
    /// Whole frames that differ from what was sent: there must never be one.
    pub false_frames: u64,
    /// Bytes of payload that arrived.
    pub bytes: u64,
    /// Time that frames and the pauses after them took, in ns.
    pub busy_ns: u64,
    /// The longest that the sender was held up at an edge, in ns.
    pub held_up_ns: u64,
    /// How wide the pulses came.
    pub eye: Option<Eye>,
    /// What threads asked for and did not get.
    pub refused: Vec<String>,
}

impl Trial {
    /// Share of the frames that did not arrive.
    pub fn frame_errors(&self) -> f64 {
        share(self.sent - self.arrived.min(self.sent), self.sent)
    }

    /// Share of the blocks that did not come.
    pub fn block_errors(&self) -> f64 {
        share(self.blocks_lost, self.blocks)
    }

    /// Share of the bits that came wrong, before parity mended them.
    pub fn bit_errors(&self) -> f64 {
        share(self.wrong_bits, self.bits)
    }

    /// Payload that arrived, in bits per second.
    pub fn net_rate(&self) -> f64 {
        share(self.bytes * 8, self.busy_ns) * 1e9
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Sends so many frames from one end to the other; fewer if `stop` is set.
pub fn run(ends: Ends, setting: Setting, frames: u32, stop: &AtomicBool) -> std::io::Result<Result<Trial, Gone>> {
    let mut receiver = Receiver::start(ends.to.0, setting, ends.by, ends.to.1)?;
    let mut sender = Sender::start(ends.from.0, setting, ends.from.1)?;
    Ok(go(&mut sender, &mut receiver, setting, frames, stop))
}

fn go(
    sender: &mut Sender,
    receiver: &mut Receiver,
    setting: Setting,
    frames: u32,
    stop: &AtomicBool,
) -> Result<Trial, Gone> {
    let mut trial = Trial::default();
    trial.refused.extend(sender.refused().iter().chain(receiver.refused()).cloned());
    trial.refused.sort();
    trial.refused.dedup();
    let began_ns = ClockId::Monotonic.now_ns();
    for number in 0..frames {
        if !sender.send(&random_frame(number, setting.payload), stop)? {
            break;
        }
        trial.sent += 1;
        while let Some(heard) = receiver.next(0, stop)? {
            trial.take(&heard, setting);
        }
    }
    if let Some(left_ns) = sender.flush(stop)? {
        // The last frame's pause belongs to it.
        trial.busy_ns = left_ns - began_ns + setting.pause_ns(setting.frame_ns(setting.payload));
        while let Some(heard) = receiver.next(left_ns + AFTERWARDS_NS + 2 * setting.code.idle_ns(), stop)? {
            trial.take(&heard, setting);
            if trial.arrived == trial.sent {
                break;
            }
        }
    }
    // Of a frame that Ctrl-C cut off nobody can say that it was lost.
    if stop.load(Ordering::Relaxed) {
        trial.sent = trial.arrived;
    }
    (trial.held_up_ns, trial.cancelled, trial.again) = (sender.held_up_ns(), sender.cancelled(), sender.again());
    trial.eye = Some(receiver.eye().clone());
    Ok(trial)
}

impl Trial {
    fn take(&mut self, heard: &Heard, setting: Setting) {
        let (number, came) = match heard {
            Heard::Frame { frame, mended, came } => {
                self.mended += *mended as u64;
                self.arrived += 1;
                self.bytes += frame.payload.len() as u64;
                self.false_frames += u64::from(*frame != random_frame(frame.number, setting.payload));
                (Some(frame.number), came)
            }
            Heard::Damaged { damage, came } => (damage.number(), came),
            Heard::Noise { .. } => return,
        };
        let Some(number) = number else { return };
        let wanted = random_frame(number, setting.payload).parts(setting.shape()).blocks;
        self.blocks += wanted.len() as u64;
        for (n, wanted) in wanted.iter().enumerate() {
            match came.get(n).and_then(Option::as_ref).filter(|came| came.len() == wanted.len()) {
                None => self.blocks_lost += 1,
                Some(came) => {
                    self.bits += wanted.len() as u64 * 8;
                    self.wrong_bits +=
                        wanted.iter().zip(came).map(|(a, b)| u64::from((a ^ b).count_ones())).sum::<u64>();
                }
            }
        }
    }
}

/// The frame with this number: the same at both ends (SplitMix64; Steele, Lea and Flood 2014).
fn random_frame(number: u32, payload: usize) -> Frame {
    let mut state = u64::from(number) << 32;
    let payload = (0..payload).map(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u8
    });
    Frame { kind: Kind::Data, number, payload: payload.collect() }
}

#[cfg(test)]
mod tests {
    use ontick_gpio::{Name, OnExit, Request, sim};

    use super::*;
    use crate::code::Code;

    /// Without any right or CPU of their own the threads may be late, so frames may be lost; wrong ones never arrive.
    #[test]
    fn what_arrives_is_what_was_sent() {
        let chip = format!("trial-{}", std::process::id());
        let line = |line| Name::Sim { chip: chip.clone(), line };
        sim::wire(&line(4), &line(17), sim::Wire::default()).unwrap();
        let setting = Setting::new(Code::new("2x2", 100_000, 100_000).unwrap(), 16).unwrap().with_payload(40).unwrap();
        for by in [By::Interrupt, By::Poll] {
            let from = Line::open(&line(4), &Request::output(false).on_exit(OnExit::Low)).unwrap();
            let to = Line::open(&line(17), &by.request()).unwrap();
            let ends = Ends { from: (from, Setup::new()), to: (to, Setup::new()), by };
            let trial = run(ends, setting, 3, &AtomicBool::new(false)).unwrap().unwrap();
            assert_eq!((trial.sent, trial.false_frames), (3, 0));
            assert_eq!(trial.bytes, trial.arrived * setting.payload as u64);
            assert!(!sim::look(&chip).unwrap()[4].level, "left low");
        }
        sim::remove(&chip).unwrap();
    }
}
