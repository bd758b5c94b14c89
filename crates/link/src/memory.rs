//! A wire of memory, for tests: what a sender gives out comes to a receiver at once, its edges exactly where the frame has
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::decode::LineEvent;
use crate::receiver::{Incoming, Receiver};
use crate::sender::Sender;
use crate::setting::Setting;
use crate::wave::Wave;

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Lost,
    /// All behind its first block is missing.
    Cut,
    /// Stretches come that are no frame.
    Noise,
}

/// What carries frames; ends with this.
pub struct Wire {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A wire and its ends. `fate` says of each frame, by its place, what becomes of it; the sender takes a frame for one
/// that left `later_ns` after it did.
pub fn wire(
    setting: Setting,
    later_ns: u64,
    mut fate: impl FnMut(usize) -> Fate + Send + 'static,
) -> (Sender, Receiver, Wire) {
    let (sender, mut outgoing) = Sender::without_line(setting);
    let (receiver, mut incoming) = Receiver::without_line(setting.code);
    let stop = Arc::new(AtomicBool::new(false));
    let carry = {
        let stop = stop.clone();
        move || {
            let (mut count, mut now_ns) = (0, 1_000_000);
            while !stop.load(Ordering::Acquire) {
                let Some(wave) = outgoing.next() else {
                    std::thread::park_timeout(Duration::from_micros(200));
                    continue;
                };
                pass(&wave, fate(count), &mut now_ns, &mut incoming);
                outgoing.left(later_ns);
                count += 1;
            }
        }
    };
    (sender, receiver, Wire { stop, thread: Some(std::thread::spawn(carry)) })
}

/// Puts a frame's edges in, and a rest after it so long that nothing more is waited for.
fn pass(wave: &Wave, fate: Fate, now_ns: &mut u64, incoming: &mut Incoming) {
    // Each begins and ends with a pulse.
    let stretches = match fate {
        Fate::Arrives => &wave.stretches[..],
        Fate::Lost => return,
        Fate::Cut => &wave.stretches[..=wave.marks[2]],
        Fate::Noise => &wave.stretches[wave.marks[0] + 2..wave.marks[1] - 1],
    };
    incoming.see(LineEvent::Edge { rising: true, time_ns: *now_ns, lost: 0, blind_ns: 0 });
    for (n, stretch) in stretches.iter().enumerate() {
        *now_ns += u64::from(*stretch);
        incoming.see(LineEvent::Edge { rising: n % 2 == 1, time_ns: *now_ns, lost: 0, blind_ns: 0 });
    }
    *now_ns += 1_000_000_000;
    incoming.see(LineEvent::Quiet(*now_ns));
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
