//! Frames for both ends of a repeated transfer, and for an end of two streams.
#![no_main]

use ontick_link::duplex::Duplex;
use ontick_link::repeat::{Next, Receiving, Sending};
use ontick_link::{Frame, Kind};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mut sending, mut receiving) = (Sending::new(1, 100), Receiving::default());
    let mut duplex = Duplex::new(4, 100, 7);
    let mut now_ns = 0;
    for word in bytes.chunks(16) {
        let byte = |at: usize| word.get(at).copied().unwrap_or(0);
        let kind = [Kind::Data, Kind::Asking, Kind::Last, Kind::Acknowledgement][usize::from(byte(0) % 4)];
        let number = u32::from(byte(1) & 1) << 24 | u32::from(byte(2)) | u32::from(byte(1) >> 7) << 20;
        let frame = Frame { kind, number, payload: word.get(3..).unwrap_or_default().to_vec() };
        now_ns += u64::from(byte(1));
        if sending.has_room() {
            let _ = sending.offer(vec![byte(2)], byte(0) & 64 != 0);
        }
        // As an answer is: four bytes.
        let answer = Frame { payload: frame.payload.iter().copied().take(4).collect(), ..frame.clone() };
        sending.take(&answer);
        if let Next::Frame(frame) = sending.next(now_ns) {
            sending.sent(now_ns);
            receiving.take(frame);
        }
        receiving.take(frame.clone());
        receiving.answer();

        if duplex.room() > 4 {
            duplex.write(&[1, 2, 3]);
        }
        duplex.take(frame);
        if let Some(frame) = duplex.next(now_ns) {
            duplex.sent(frame.kind, now_ns);
        }
        if byte(1) & 2 == 0 {
            let unread = duplex.unread().len();
            duplex.consume(unread);
        }
    }
});
