//! The file of events of `ontick watch`, after whatever became of it.
#![no_main]

use ontick_watch::events::{Event, Events, Kind};

libfuzzer_sys::fuzz_target!(|input: (&[u8], u32, u32)| {
    let (bytes, from, to) = input;
    let folder = ontick_fuzz::folder();
    std::fs::write(folder.join("events.jsonl"), bytes).unwrap();
    let mut events = Events::open(&folder).unwrap();
    assert!(events.newest(from, to, 100).iter().all(|event| (from..to).contains(&event.at)));
    let event = Event { at: from, kind: Kind::Clock, bad: false, cpu: None, text: "the clock was set".into() };
    events.append(&event).unwrap();
    let newest = events.newest(from, u32::MAX, 100);
    assert_eq!(newest.first(), (from < u32::MAX).then_some(&event));
    assert!(newest.len() <= 100);
});
