//! One frame as pulses and gaps, disturbed on the way, and decoded: plain computation, without a line or a thread.
//! `cargo run -p ontick-link --example frames`

use std::error::Error;

use ontick_link::Code;
use ontick_link::decode::{Decoded, Decoder, LineEvent};
use ontick_link::frame::{Frame, Kind};
use ontick_link::setting::Setting;
use ontick_link::wave::Wave;

/// Every edge is late by up to so much, in ns: a fifth of the code's step.
const JITTER_NS: u64 = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    // Four widths of pulses and four of gaps: two bits each.
    let setting = Setting::new(Code::new("4x4", 20_000, 10_000)?, 20)?;
    let frame = Frame { kind: Kind::Data, number: 0, payload: b"carried by the widths of pulses".to_vec() };

    let mut decoder = Decoder::new(setting.code);
    let (mut now_ns, mut rising, mut edges) = (1_000_000, true, 0_u64);
    // An edge begins each stretch, and one ends the last.
    let stretches = Wave::new(&frame, setting.shape(), setting.code).stretches;
    for stretch_ns in stretches.into_iter().chain([0]) {
        let jitter_ns = edges * 7_919 % JITTER_NS;
        decoder.take(LineEvent::Edge { rising, time_ns: now_ns + jitter_ns, lost: 0, blind_ns: 0 });
        now_ns += u64::from(stretch_ns);
        rising = !rising;
        edges += 1;
    }
    decoder.take(LineEvent::Quiet(now_ns + 100_000_000));

    println!("{edges} edges, {:.1} ms on the wire", (now_ns - 1_000_000) as f64 / 1e6);
    while let Some(heard) = decoder.pop() {
        match heard {
            Decoded::Frame { frame, mended, .. } => {
                println!("\"{}\", {mended} blocks replaced by parity", String::from_utf8_lossy(&frame.payload));
            }
            Decoded::Damaged { damage, .. } => println!("a damaged frame: {damage}"),
            Decoded::Noise { stretches } => println!("noise: {stretches} stretches"),
        }
    }
    Ok(())
}
