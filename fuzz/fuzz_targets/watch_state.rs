//! What `ontick watch` keeps of the machine and of causes: two files of JSON, before and now.
#![no_main]

use ontick_watch::causes::{self, Causes, Late};
use ontick_watch::changes::Seen;

libfuzzer_sys::fuzz_target!(|input: (&[u8], &[u8], &[u8])| {
    let (before, now, counted) = input;
    if let (Ok(before), Ok(now)) = (serde_json::from_slice::<Seen>(before), serde_json::from_slice::<Seen>(now)) {
        let events = now.since(&before, 7);
        assert!(before != now || events.is_empty());
        let written = serde_json::to_vec(&now).unwrap();
        assert_eq!(serde_json::from_slice::<Seen>(&written).unwrap(), now);
    }
    let folder = ontick_fuzz::folder();
    std::fs::write(folder.join("causes.json"), counted).unwrap();
    let (mut causes, damage) = Causes::open(&folder);
    assert_eq!(damage.is_some(), causes::read(counted).is_err());
    let there = causes.all();
    let late = Late { latency_ns: 5, cause: "softirq".into(), detail: "BLOCK".into() };
    causes.add(7, &[late.clone(), late]).unwrap();
    let all = causes.all();
    assert!(
        all.len() <= there.len() + 1 && all.iter().any(|of| of.cause == "softirq" && of.count >= 2 && of.last == 7)
    );
    assert_eq!(Causes::open(&folder).0.all(), all);
});
