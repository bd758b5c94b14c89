//! With a return line: what did not arrive is repeated until it did.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ontick_rt::clock::ClockId;

use super::feed::Fed;
use super::silence::Silence;
use super::{Broken, Feed, GLANCE_NS, KEEPALIVE, Reception, Sent, Warning};
use crate::frame::Kind;
use crate::repeat::{MOST_DOUBLINGS, Next, Receiving, Sending};
use crate::setting::Setting;
use crate::{Decoded, Receiver, Sender};

/// Bytes of an acknowledgement.
const ANSWER: usize = 4;
/// What threads need besides the wire until an answer is there, in ns.
const SLACK_NS: u64 = 40_000_000;
/// Farewells, as nobody answers them.
const FAREWELLS: usize = 3;
/// A receiver that has everything answers on, should its answers have been lost: until so many questions, at the longest
/// wait between two, would have been lost, too.
const QUESTIONS: u64 = 12;

/// How long a sender waits for an answer at first, in ns.
pub(super) fn timeout_ns(setting: Setting) -> u64 {
    2 * setting.frame_ns(ANSWER) + setting.pause_ns(setting.frame_ns(setting.payload)) + SLACK_NS
}

/// Sends everything and sees to it that it arrives; gives up when no answer came for `patience_ns` after one was asked
/// for, or when `stop` is set. What a slow wire takes until the question has left is no part of that.
pub fn send(
    sender: &mut Sender,
    back: &mut Receiver,
    setting: Setting,
    feed: &mut Feed,
    (stream, patience_ns): (u8, u64),
    stop: &AtomicBool,
) -> Result<Sent, Broken> {
    let (mut sending, mut sent) = (Sending::new(stream, timeout_ns(setting)), Sent::default());
    // When the first question left that has no answer.
    let (mut asked_ns, mut wait) = (None, KEEPALIVE);
    while !stop.load(Ordering::Relaxed) {
        while sending.has_room() {
            let waits = wait != Duration::ZERO;
            let (bytes, last) = match feed.take(setting.payload, wait).map_err(Broken::Input)? {
                Fed::Bytes(bytes) if bytes.is_empty() && !waits => break,
                Fed::Bytes(bytes) => (bytes, false),
                Fed::Last(bytes) => (bytes, true),
            };
            wait = Duration::ZERO;
            sent.bytes += bytes.len() as u64;
            sending.offer(bytes, last)?;
        }
        let now_ns = ClockId::Monotonic.now_ns();
        match sending.next(now_ns) {
            Next::Frame(frame) => {
                if !sender.send(&frame, stop)? {
                    break;
                }
                sent.frames += 1;
                let left_ns = if sending.asks() { sender.flush(stop)? } else { Some(now_ns) }.unwrap_or(now_ns);
                if sending.asks() {
                    asked_ns.get_or_insert(left_ns);
                }
                sending.sent(left_ns);
            }
            Next::Wait(until_ns) => {
                if let Some(received) = back.next(until_ns.min(now_ns + GLANCE_NS), stop)? {
                    if matches!(&received, Decoded::Frame { frame, .. } if sending.take(frame)) {
                        asked_ns = None;
                    }
                } else if asked_ns.is_some_and(|asked_ns| now_ns.saturating_sub(asked_ns) > patience_ns) {
                    sent.unanswered = true;
                    break;
                }
            }
            Next::Idle => {
                wait = KEEPALIVE;
            }
            Next::Done => {
                for _ in 0..FAREWELLS {
                    sender.send(&sending.farewell(), stop)?;
                }
                sender.flush(stop)?;
                sent.complete = true;
                break;
            }
        }
    }
    sent.repeated = sending.repeated();
    Ok(sent)
}

/// Hands on everything, in order, and has repeated what did not arrive; until the sender knows that it did, until
/// nothing came for `patience_ns` once it had begun or another stream was heard, or until `stop`.
pub fn receive(
    receiver: &mut Receiver,
    back: &mut Sender,
    setting: Setting,
    patience_ns: u64,
    stop: &AtomicBool,
    mut out: impl FnMut(&[u8]) -> io::Result<()>,
    mut warn: impl FnMut(Warning),
) -> Result<Reception, Broken> {
    let (mut receiving, mut got) = (Receiving::default(), Reception::default());
    let linger_ns = QUESTIONS * (timeout_ns(setting) << MOST_DOUBLINGS);
    let mut silence = Silence::new(ClockId::Monotonic.now_ns());
    while !stop.load(Ordering::Relaxed) && !receiving.closed() {
        let now_ns = ClockId::Monotonic.now_ns();
        let quiet_ns = silence.ns(receiver.blocks(), now_ns);
        // Who comes into the midst of a stream waits in vain for its beginning.
        let was_sent_to = receiving.began() || got.foreign > 0;
        if quiet_ns > patience_ns && was_sent_to || quiet_ns > linger_ns && receiving.complete() {
            break;
        }
        let Some(received) = receiver.next(now_ns + GLANCE_NS, stop)? else { continue };
        match received {
            Decoded::Frame { frame, mended, .. } => {
                // A farewell was not counted by who sent it, and may be for the receiver before this one.
                let counts = frame.kind != Kind::Acknowledgement;
                got.frames += u64::from(counts);
                got.foreign += u64::from(counts && !receiving.is_own(&frame));
                got.mended += mended as u64;
                let bytes = receiving.take(frame);
                got.bytes += bytes.len() as u64;
                out(&bytes).map_err(Broken::Output)?;
                if let Some(answer) = receiving.answer() {
                    back.send(&answer, stop)?;
                }
            }
            Decoded::Damaged { damage, .. } => {
                got.damaged += 1;
                warn(Warning::Damaged(damage));
            }
            Decoded::Noise { .. } => got.noise += 1,
        }
    }
    (got.began, got.ended) = (receiving.began(), receiving.complete());
    Ok(got)
}
