//! What a wire can do: pseudo-random frames through it, and what became of them.

use std::sync::atomic::{AtomicBool, Ordering};

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::ClockId;
use ontick_rt::thread::Setup;

use crate::decode::Decoded;
use crate::eye::Eye;
use crate::frame::{Frame, Kind};
use crate::receiver::{Method, Receiver};
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
    pub method: Method,
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

/// How much is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// So many frames.
    pub frames: u32,
    /// None begins later than this, in ns on the monotonic clock, but for the first.
    pub until_ns: u64,
}

impl Extent {
    /// So many frames, however long they take.
    pub fn frames(frames: u32) -> Self {
        Self { frames, until_ns: u64::MAX }
    }
}

/// Sends frames from one end to the other; fewer if `stop` is set.
pub fn run(ends: Ends, setting: Setting, extent: Extent, stop: &AtomicBool) -> std::io::Result<Result<Trial, Gone>> {
    let mut receiver = Receiver::start(ends.to.0, setting, ends.method, ends.to.1)?;
    let mut sender = Sender::start(ends.from.0, setting, ends.from.1)?;
    Ok(go(&mut sender, &mut receiver, setting, extent, stop))
}

fn go(
    sender: &mut Sender,
    receiver: &mut Receiver,
    setting: Setting,
    extent: Extent,
    stop: &AtomicBool,
) -> Result<Trial, Gone> {
    let mut trial = Trial::default();
    trial.refused.extend(sender.refused().iter().chain(receiver.refused()).cloned());
    trial.refused.sort();
    trial.refused.dedup();
    let began_ns = ClockId::Monotonic.now_ns();
    for number in 0..extent.frames {
        if number > 0 && late(sender, extent.until_ns, stop)? {
            break;
        }
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
        let until_ns = left_ns + AFTERWARDS_NS + 2 * setting.code.idle_ns();
        trial.await_others(receiver, setting, until_ns, stop)?;
    }
    // Of a frame that Ctrl-C cut off nobody can say that it was lost.
    if stop.load(Ordering::Relaxed) {
        trial.sent = trial.arrived;
    }
    (trial.held_up_ns, trial.cancelled, trial.again) = (sender.held_up_ns(), sender.cancelled(), sender.again());
    trial.eye = Some(receiver.eye().clone());
    Ok(trial)
}

/// Whether no other frame may begin. Where that is so at some time, one waits at most, so that no queue is left then.
fn late(sender: &mut Sender, until_ns: u64, stop: &AtomicBool) -> Result<bool, Gone> {
    if until_ns == u64::MAX {
        return Ok(false);
    }
    sender.until_waiting(1, stop)?;
    Ok(ClockId::Monotonic.now_ns() >= until_ns)
}

impl Trial {
    /// Waits for frames that are still on their way; where all have come, for none.
    fn await_others(
        &mut self,
        receiver: &mut Receiver,
        setting: Setting,
        until_ns: u64,
        stop: &AtomicBool,
    ) -> Result<(), Gone> {
        while self.arrived < self.sent {
            let Some(heard) = receiver.next(until_ns, stop)? else { break };
            self.take(&heard, setting);
        }
        Ok(())
    }

    fn take(&mut self, heard: &Decoded, setting: Setting) {
        let (number, came) = match heard {
            Decoded::Frame { frame, mended, came } => {
                self.mended += *mended as u64;
                self.arrived += 1;
                self.bytes += frame.payload.len() as u64;
                self.false_frames += u64::from(*frame != random_frame(frame.number, setting.payload));
                (Some(frame.number), came)
            }
            Decoded::Damaged { damage, came } => (damage.number(), came),
            Decoded::Noise { .. } => return,
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
    use crate::frame::Damage;
    use crate::memory::{Fate, wire};

    /// Frames of two blocks without parity.
    fn setting() -> Setting {
        Setting::new(Code::new("2x2", 100_000, 100_000).unwrap(), 0).unwrap().with_payload(40).unwrap()
    }

    fn blocks(number: u32) -> Vec<Vec<u8>> {
        random_frame(number, 40).parts(setting().shape()).blocks
    }

    /// The wire says that a frame left an hour after it did.
    #[test]
    fn what_became_of_frames_is_counted() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let fate = |n| [Fate::Arrives, Fate::Lost, Fate::Cut, Fate::Noise, Fate::Arrives][n];
        let (stop, setting) = (AtomicBool::new(false), setting());
        let (mut sender, mut receiver, _wire) = wire(setting, 0, fate);
        let trial = go(&mut sender, &mut receiver, setting, Extent::frames(5), &stop).unwrap();
        let (of_frame, size) = (blocks(0).len() as u64, blocks(0)[0].len() as u64 * 8);
        assert!(of_frame >= 2);
        assert_eq!((trial.sent, trial.arrived, trial.bytes, trial.false_frames), (5, 2, 80, 0));
        // Of frames whose number came: two whole ones and one that was cut behind its first block.
        assert_eq!((trial.blocks, trial.blocks_lost), (3 * of_frame, of_frame - 1));
        assert_eq!((trial.bits, trial.wrong_bits), ((2 * of_frame + 1) * size, 0));
        assert_eq!(trial.frame_errors(), 0.6);
        assert_eq!(trial.block_errors(), (of_frame - 1) as f64 / (3 * of_frame) as f64);
        assert_eq!(trial.refused, ["a CPU of its own", "priority 80"]);

        let (mut sender, mut receiver, _wire) = wire(setting, HOUR_NS, |_| Fate::Arrives);
        let began_ns = ClockId::Monotonic.now_ns();
        let trial = go(&mut sender, &mut receiver, setting, Extent::frames(3), &stop).unwrap();
        let took_ns = ClockId::Monotonic.now_ns() - began_ns;
        let least_ns = HOUR_NS + setting.pause_ns(setting.frame_ns(40));
        assert!((least_ns..=least_ns + took_ns).contains(&trial.busy_ns), "{} {least_ns}", trial.busy_ns);
        assert_eq!(trial.net_rate(), 960.0 / trial.busy_ns as f64 * 1e9);
        assert_eq!(trial.frame_errors(), 0.0);
    }

    #[test]
    fn no_frame_begins_after_its_time_but_the_first() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        let sent = |until_ns| {
            let (mut sender, mut receiver, _wire) = wire(setting, 0, |_| Fate::Arrives);
            go(&mut sender, &mut receiver, setting, Extent { frames: 3, until_ns }, &stop).unwrap().sent
        };
        assert_eq!([sent(0), sent(u64::MAX - 1), sent(u64::MAX)], [1, 3, 3]);
    }

    /// The last may have come before the sender says that it left.
    #[test]
    fn where_all_frames_have_come_none_is_waited_for() {
        let (stop, setting) = (AtomicBool::new(false), setting());
        let (mut sender, mut receiver, _wire) = wire(setting, 0, |_| Fate::Arrives);
        sender.send(&random_frame(0, 40), &stop).unwrap();
        // Its edges are there when it has left.
        sender.flush(&stop).unwrap();
        let after = |sent, receiver: &mut Receiver| {
            let mut trial = Trial { sent, arrived: 2, ..Trial::default() };
            trial.await_others(receiver, setting, 0, &stop).unwrap();
            trial.arrived
        };
        assert_eq!(after(2, &mut receiver), 2, "what comes now is none of them");
        assert_eq!(after(4, &mut receiver), 3, "one came, and the time is over");
    }

    /// Nobody can say of frames that an interrupt cut off that they were lost.
    #[test]
    fn frames_of_a_trial_that_was_stopped_are_not_lost() {
        let setting = setting();
        let (mut sender, mut receiver, _wire) = wire(setting, 0, |_| Fate::Lost);
        let stop = AtomicBool::new(true);
        let trial = go(&mut sender, &mut receiver, setting, Extent::frames(3), &stop).unwrap();
        assert_eq!((trial.sent, trial.arrived), (0, 0));
        let rates = [trial.frame_errors(), trial.block_errors(), trial.bit_errors(), trial.net_rate()];
        assert_eq!(rates, [0.0; 4], "shares of nothing");
    }

    #[test]
    fn wrong_bits_and_false_frames_are_noticed() {
        let setting = setting();
        let mut came: Vec<Option<Vec<u8>>> = blocks(7).into_iter().map(Some).collect();
        let (of_frame, size) = (came.len() as u64, came[0].as_ref().unwrap().len() as u64 * 8);
        // Three bits of the first block, and the last too short to be compared.
        came[0].as_mut().unwrap()[0] ^= 0b101;
        came[0].as_mut().unwrap()[1] ^= 0b1000_0000;
        came.last_mut().unwrap().as_mut().unwrap().pop();
        let mut trial = Trial::default();
        let frame = random_frame(7, 40);
        trial.take(&Decoded::Frame { frame: frame.clone(), mended: 2, came: came.clone() }, setting);
        assert_eq!((trial.arrived, trial.mended, trial.false_frames), (1, 2, 0));
        assert_eq!((trial.blocks, trial.blocks_lost), (of_frame, 1));
        assert_eq!((trial.bits, trial.wrong_bits), ((of_frame - 1) * size, 3));
        assert_eq!(trial.bit_errors(), 3.0 / ((of_frame - 1) * size) as f64);

        let other = Frame { payload: vec![0; 40], ..frame };
        trial.take(&Decoded::Frame { frame: other, mended: 1, came: Vec::new() }, setting);
        assert_eq!((trial.arrived, trial.mended, trial.false_frames, trial.bytes), (2, 3, 1, 80));
        assert_eq!((trial.blocks, trial.blocks_lost), (2 * of_frame, 1 + of_frame));
        // Whose frame that was is not known, and noise is nobody's.
        trial.take(&Decoded::Damaged { damage: Damage::Header, came }, setting);
        trial.take(&Decoded::Noise { stretches: 9 }, setting);
        assert_eq!((trial.arrived, trial.blocks), (2, 2 * of_frame));
    }

    /// The other end may be another version: SplitMix64 begins so with a seed of 0.
    #[test]
    fn frames_are_the_same_at_both_ends() {
        assert_eq!(random_frame(0, 4).payload, [0xaf, 0xf4, 0x4f, 0xec]);
    }

    #[test]
    fn no_two_frames_are_alike() {
        let frames: Vec<Frame> = (0..50).map(|number| random_frame(number, 40)).collect();
        for (n, frame) in frames.iter().enumerate() {
            assert!(frames[..n].iter().all(|other| other.payload != frame.payload), "frame {n}");
            let ones: u32 = frame.payload.iter().map(|byte| byte.count_ones()).sum();
            assert!((110..210).contains(&ones), "as many ones as zeros, nearly: {ones} of 320");
        }
    }

    /// Without any right or CPU of their own the threads may be late, so frames may be lost; wrong ones never arrive.
    #[test]
    fn what_arrives_is_what_was_sent() {
        let chip = format!("trial-{}", std::process::id());
        let line = |line| Name::Sim { chip: chip.clone(), line };
        sim::wire(&line(4), &line(17), sim::Wire::default()).unwrap();
        let setting = Setting::new(Code::new("2x2", 100_000, 100_000).unwrap(), 16).unwrap().with_payload(40).unwrap();
        for method in [Method::Interrupt, Method::Poll] {
            let from = Line::open(&line(4), &Request::output(false).on_exit(OnExit::Low)).unwrap();
            let to = Line::open(&line(17), &method.request()).unwrap();
            let ends = Ends { from: (from, Setup::new()), to: (to, Setup::new()), method };
            let trial = run(ends, setting, Extent::frames(3), &AtomicBool::new(false)).unwrap().unwrap();
            assert_eq!((trial.sent, trial.false_frames), (3, 0));
            assert_eq!(trial.bytes, trial.arrived * setting.payload as u64);
            assert!(!sim::line_states(&chip).unwrap()[4].level, "left low");
        }
        sim::remove(&chip).unwrap();
    }
}
