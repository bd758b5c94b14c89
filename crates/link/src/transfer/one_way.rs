//! Without a return line: every frame is sent once, and what does not arrive is reported.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use ontick_rt::clock::ClockId;

use super::feed::Fed;
use super::silence::Silence;
use super::{Broken, Feed, GLANCE_NS, KEEPALIVE, Reception, Sent, Warning};
use crate::setting::Setting;
use crate::stream::{Delivery, Incoming, Numbering};
use crate::{Decoded, Receiver, Sender};

/// Sends everything, as the stream with this mark; ends early when `stop` is set.
pub fn send(
    sender: &mut Sender,
    setting: Setting,
    feed: &mut Feed,
    stream: u8,
    stop: &AtomicBool,
) -> Result<Sent, Broken> {
    let (mut numbering, mut sent) = (Numbering::new(stream), Sent::default());
    let most = setting.payload;
    while !stop.load(Ordering::Relaxed) {
        let (bytes, last) = match feed.take(most, KEEPALIVE).map_err(Broken::Input)? {
            Fed::Bytes(bytes) => (bytes, false),
            Fed::Last(bytes) => (bytes, true),
        };
        let length = bytes.len() as u64;
        if !sender.send(&numbering.frame(bytes, last)?, stop)? {
            break;
        }
        sent.bytes += length;
        sent.frames += 1;
        if last {
            sent.complete = sender.flush(stop)?.is_some();
            break;
        }
    }
    Ok(sent)
}

/// Hands on what arrives, until the last frame, until nothing came for `patience_ns` once it had begun, or until
/// `stop`.
pub fn receive(
    receiver: &mut Receiver,
    patience_ns: u64,
    stop: &AtomicBool,
    mut out: impl FnMut(&[u8]) -> io::Result<()>,
    mut warn: impl FnMut(Warning),
) -> Result<Reception, Broken> {
    let (mut incoming, mut got) = (Incoming::default(), Reception::default());
    let mut silence = Silence::new(ClockId::Monotonic.now_ns());
    while !stop.load(Ordering::Relaxed) && !incoming.ended() {
        let now_ns = ClockId::Monotonic.now_ns();
        let quiet_ns = silence.ns(receiver.blocks(), now_ns);
        if incoming.began() && quiet_ns > patience_ns {
            break;
        }
        let Some(received) = receiver.next(now_ns + GLANCE_NS, stop)? else { continue };
        match received {
            Decoded::Frame { frame, mended, .. } => {
                got.frames += 1;
                got.mended += mended as u64;
                let bytes = match incoming.take(frame) {
                    Delivery::Bytes(bytes) => bytes,
                    Delivery::After { first, missing, bytes } => {
                        warn(Warning::Missing(first, missing));
                        bytes
                    }
                    Delivery::Foreign => {
                        got.foreign += 1;
                        continue;
                    }
                };
                got.bytes += bytes.len() as u64;
                out(&bytes).map_err(Broken::Output)?;
            }
            Decoded::Damaged { damage, .. } => {
                got.damaged += 1;
                warn(Warning::Damaged(damage));
            }
            Decoded::Noise { .. } => got.noise += 1,
        }
    }
    (got.missing, got.began, got.ended) = (incoming.missing(), incoming.began(), incoming.ended());
    Ok(got)
}
