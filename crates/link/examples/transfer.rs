//! Sends bytes over simulated wires there and back, where frames that did not arrive are repeated, and compares.
//! `cargo run --release -p ontick-link --example transfer`

use std::error::Error;
use std::io::Cursor;
use std::sync::atomic::AtomicBool;

use ontick_gpio::{Line, Name, Request, sim};
use ontick_link::receiver::Method;
use ontick_link::setting::Setting;
use ontick_link::transfer::{Feed, repeated};
use ontick_link::{Code, Receiver, Sender};
use ontick_rt::thread::{Policy, Setup};

/// Nobody answered for so long: the transfer is given up, in ns.
const PATIENCE_NS: u64 = 10_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let name = |line: u32| format!("sim:example-link/{line}").parse::<Name>();
    let [there, arrives, back, returns] = [name(4)?, name(17)?, name(5)?, name(18)?];
    sim::wire(&there, &arrives, sim::Wire::default())?;
    sim::wire(&back, &returns, sim::Wire::default())?;

    // As wide as source 002's pulses, so that both ends sleep between edges and need no core of their own.
    let setting = Setting::new(Code::SOURCE_002, 0)?;
    // Ahead of other programs where the system allows it: late edges are damaged frames, which are sent again.
    let setup = || Setup::new().policy(Policy::Fifo(80));
    let output = |line: &Name| Line::open(line, &Request::output(false));
    let input = |line: &Name| Line::open(line, &Method::Interrupt.request());
    let message = b"every byte arrives, once and in order";

    let receiving = std::thread::spawn({
        let mut receiver = Receiver::start(input(&arrives)?, setting, Method::Interrupt, setup())?;
        let mut answers = Sender::start(output(&back)?, setting, setup())?;
        move || {
            let (stop, mut got) = (AtomicBool::new(false), Vec::new());
            let take = |bytes: &[u8]| {
                got.extend_from_slice(bytes);
                Ok(())
            };
            let result = repeated::receive(&mut receiver, &mut answers, setting, PATIENCE_NS, &stop, take, |_| {});
            result.map(|_| got)
        }
    });

    let mut sender = Sender::start(output(&there)?, setting, setup())?;
    let mut answers = Receiver::start(input(&returns)?, setting, Method::Interrupt, setup())?;
    let mut feed = Feed::new(Cursor::new(message.to_vec()))?;
    let stop = AtomicBool::new(false);
    let sent = repeated::send(&mut sender, &mut answers, setting, &mut feed, (1, PATIENCE_NS), &stop)?;
    let got = receiving.join().map_err(|_| "the receiver panicked")??;
    println!("{} bytes in {} frames, {} of them repeated", sent.bytes, sent.frames, sent.repeated);
    println!("arrived: {}", String::from_utf8_lossy(&got));
    sim::remove("example-link")?;
    if !sent.complete {
        return Err("no answer came for 10 s, and the sender gave up".into());
    }
    if got != message {
        return Err("what arrived is not what was sent".into());
    }
    Ok(())
}
