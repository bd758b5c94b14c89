//! Gate parameters and streams of a network manager.
#![no_main]

use ontick_tsn::model::{Base, Stream, Switch};
use ontick_tsn::{config, yang};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut imported = match yang::import(text) {
        Ok(imported) => imported,
        Err(error) => return assert!(!error.path.is_empty() && !error.what.is_empty()),
    };
    let switch = yang::new_switch("fuzz", &mut imported);
    // What no file may say (names, frames that do not fit) is reported by reading it.
    let Ok(read) = config::read_at(&config::write(&switch), 1_795_000_000_000_000_000) else { return };
    assert_eq!(read.switch, switch);
    let Ok(exported) = yang::export(&switch) else { return };
    let Ok(mut again) = yang::import(&exported.document.to_string()) else { return };
    for (interface, port) in again.interfaces.iter().zip(&switch.ports) {
        let entries = |gates: &ontick_tsn::model::Gates| (gates.cycle_ns, gates.entries.clone());
        assert_eq!(interface.gates.as_ref().map(entries), port.gates.as_ref().map(entries));
    }
    // A base time of the next second is that of another second of the past.
    let undated = |switch: &Switch| -> Vec<Stream> {
        let mut streams = switch.streams.clone();
        let gates = streams.iter_mut().filter_map(|stream| stream.gate.as_mut());
        gates.for_each(|gate| gate.base = Base::NextSecond);
        streams
    };
    assert_eq!(undated(&yang::new_switch("fuzz", &mut again)), undated(&switch));
});
