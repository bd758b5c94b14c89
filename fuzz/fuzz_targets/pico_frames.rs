//! What a Pico's port may send: any bytes, cut anywhere; and each frame in it as a message and as a command.
#![no_main]

use ontick_pico::{Command, LONGEST, Message, Reader, frame};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mut reader, mut in_frames) = (Reader::default(), 0);
    for byte in bytes {
        let Some(frame) = reader.take(*byte) else { continue };
        in_frames += frame.payload().len() as u64 + 8;
        look(&frame);
    }
    assert!(reader.foreign() + in_frames <= bytes.len() as u64);

    // The same bytes as a payload that arrived whole.
    let Some((kind, payload)) = bytes.split_first() else { return };
    let payload = &payload[..payload.len().min(frame::PAYLOAD)];
    let mut whole = [0; LONGEST];
    let length = frame::write(*kind, 0, payload, &mut whole);
    let mut reader = Reader::default();
    let read = whole[..length].iter().find_map(|byte| reader.take(*byte)).expect("it was made by us");
    assert_eq!((read.kind, read.payload()), (*kind, payload));
    look(&read);
});

fn look(frame: &frame::Frame) {
    let mut again = [0; LONGEST];
    match Message::read(frame) {
        Some(Message::Edges(edges)) => edges.for_each(|edge| assert!(edge.line < ontick_pico::LINES)),
        Some(message) => assert!(message.write(frame.sequence, &mut again) <= LONGEST),
        None => {}
    }
    if let Some(command) = Command::read(frame) {
        let length = command.write(frame.sequence, &mut again);
        assert_eq!(again[4..length - 4], *frame.payload());
    }
}
