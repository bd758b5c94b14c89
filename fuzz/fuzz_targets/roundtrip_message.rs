//! Requests and answers of a round trip, as anybody on the network may send them.
#![no_main]

use ontick_network::roundtrip::{Message, OCTETS};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let signed = [&b"OTR1"[..], bytes].concat();
    for data in [bytes, &signed[..]] {
        let Some(message) = Message::read(data) else { continue };
        assert!(data.len() >= OCTETS);
        assert_eq!(Message::read(&message.octets()), Some(message));
        if message.residence.is_some() {
            assert_eq!(message.octets(), data[..OCTETS]);
        }
    }
});
