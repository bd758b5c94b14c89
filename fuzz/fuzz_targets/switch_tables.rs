//! tsnkit's tables of a network, and plans in either form for it: what is read can be held against the network.
#![no_main]

use ontick_tsn::network::{Overhead, tsnkit};
use ontick_tsn::planning::Document;
use ontick_tsn::validate::{Schedule, TARGETS, ValidationInput, validate};

libfuzzer_sys::fuzz_target!(|text: &str| {
    // Parts are apart by a line of its own.
    let parts: Vec<&str> = text.split("\n---\n").collect();
    let (task, topo) = (parts[0], parts.get(1).copied().unwrap_or(TOPO));
    let task = if task.is_empty() { TASK } else { task };
    let Ok(network) = tsnkit::read(task, topo, None, Overhead::PayloadOnly) else { return };
    if network.streams.len() > 50 || network.links.len() > 100 {
        return;
    }
    let check = |schedule: &Schedule| {
        let input = ValidationInput {
            network: &network,
            schedule,
            target: &TARGETS[1],
            guard_bands: false,
            most_messages: 5_000,
        };
        let verdict = validate(&input);
        verdict.faults.iter().for_each(|fault| drop(fault.in_words(&network)));
    };
    if let Some(document) = parts.get(2).and_then(|text| Document::read(text).ok()) {
        let _ = document.timetable(&network);
        if let Ok(schedule) = document.schedule(&network) {
            check(&schedule);
        }
    }
    if let [_, _, _, gcl, route, queue, offset, ..] = parts.as_slice() {
        if let Ok(schedule) = ontick_tsn::validate::tsnkit::read(gcl, route, queue, offset, &network) {
            check(&schedule);
        }
    }
});

const TASK: &str = "stream,src,dst,size,period,deadline,jitter\n0,1,[2],100,500000,500000,500000\n";
const TOPO: &str = "link,q_num,rate,t_proc,t_prop\n\"(0, 1)\",8,1,2000,0\n\"(1, 0)\",8,1,2000,0\n\"(2, 0)\",8,1,2000,0\n\"(0, 2)\",8,1,2000,0\n";
