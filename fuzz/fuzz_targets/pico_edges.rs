//! What a host keeps of what a Pico sends: bytes as they come, and frames that arrived whole, each a kind, a length and a
//! payload.
#![no_main]

use ontick_measure::pico::Collected;
use ontick_pico::frame::{self, PAYLOAD};
use ontick_pico::{LONGEST, Message, Reader};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut collected = Collected::new(&[0, 5]);
    take(bytes, &mut collected);
    let mut rest = bytes;
    while let [kind, length, after @ ..] = rest {
        let (payload, more) = after.split_at((usize::from(*length) % (PAYLOAD + 1)).min(after.len()));
        let mut whole = [0; LONGEST];
        let length = frame::write(*kind, 0, payload, &mut whole);
        take(&whole[..length], &mut collected);
        rest = more;
    }
    assert!(collected.notes().iter().all(|note| !note.contains('\n')));
    ontick_fuzz::must_be_comparable(&collected.finish(vec!["GP0".into(), "GP5".into()]));
});

fn take(bytes: &[u8], collected: &mut Collected) {
    let mut reader = Reader::default();
    for byte in bytes {
        let Some(frame) = reader.take(*byte) else { continue };
        if let Some(message) = Message::read(&frame) {
            collected.take(&message);
        }
    }
}
