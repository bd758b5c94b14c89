//! What a receiver sees on its line.
#![no_main]

use ontick_link::decode::{Decoder, LineEvent};
use ontick_link::{Code, Decoded};

const CODES: [(&str, u64, u64); 4] =
    [("2x1", 100_000, 100_000), ("4x4", 20_000, 10_000), ("16x16", 1_000, 400), ("1x2", 500, 100)];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let (alphabet, shortest_ns, step_ns) = CODES[usize::from(first % 4)];
    let Ok(code) = Code::new(alphabet, shortest_ns, step_ns) else { return };
    let mut decoder = Decoder::new(code);
    let (mut time_ns, mut level) = (1_000_000_000u64, false);
    for word in rest.chunks(2) {
        let (kind, length) = (word[0], u64::from(*word.get(1).unwrap_or(&0)));
        // In half steps, so that whole frames can be met; sometimes long, and rarely back in time.
        time_ns = match kind >> 5 {
            0 => time_ns + length * 1_000_000,
            1 => time_ns.saturating_sub(length * step_ns),
            _ => time_ns + shortest_ns + length * step_ns / 2,
        };
        level = if kind & 1 == 0 { !level } else { level };
        decoder.take(match kind & 14 {
            0 => LineEvent::Quiet(time_ns),
            2 => LineEvent::Edge { rising: level, time_ns, lost: length as u16, blind_ns: 0 },
            4 => LineEvent::Edge { rising: level, time_ns, lost: 0, blind_ns: (length * step_ns) as u32 },
            _ => LineEvent::Edge { rising: level, time_ns, lost: 0, blind_ns: 0 },
        });
        while let Some(heard) = decoder.pop() {
            if let Decoded::Frame { frame, .. } = heard {
                assert!(frame.payload.len() <= ontick_link::frame::LONGEST);
            }
        }
    }
});
