//! The file of a network, in both its forms; what is planned for it holds.
#![no_main]

use std::cell::Cell;

use ontick_tsn::network;
use ontick_tsn::planning::{Document, Outcome, PlanOptions, Timetable, gate_control_list, nodes, plan};
use ontick_tsn::validate::{TARGETS, ValidationInput, validate};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let lines = text.matches('\n').count() + 1;
    let network = match network::read(text) {
        Ok(network) => network,
        Err(errors) => {
            assert!(!errors.problems.is_empty());
            assert!(errors.problems.iter().all(|problem| (1..=lines).contains(&problem.line)), "{errors}");
            return;
        }
    };
    if network.streams.len() > 20 || network.links.len() > 40 {
        return;
    }
    let steps = Cell::new(0);
    let go_on = || {
        steps.set(steps.get() + 1);
        steps.get() < 60
    };
    if let Some(too_long) = gate_control_list::too_long_in_any_plan(&network) {
        return drop(too_long.to_string());
    }
    let wanted = PlanOptions::default();
    let table = match plan(&network, &wanted, &Timetable::default(), &go_on) {
        Outcome::Planned(table) => table,
        Outcome::NotFound(_) => return,
        Outcome::Impossible(certificates) => {
            certificates.iter().for_each(|one| drop(one.in_words(&network)));
            return;
        }
    };
    let schedule = match gate_control_list::schedule(&network, &table) {
        Ok(schedule) => schedule,
        Err(too_long) => return drop(too_long.to_string()),
    };
    if schedule.windows.len() > 10_000 {
        return;
    }
    let input = ValidationInput {
        network: &network,
        schedule: &schedule,
        target: &TARGETS[0],
        guard_bands: false,
        most_messages: 20_000,
    };
    let verdict = validate(&input);
    let faults: Vec<String> = verdict.faults.iter().map(|fault| fault.in_words(&network)).collect();
    assert!(verdict.holds(), "{faults:?}");
    let written = Document::new(&network, &table, &schedule).write().unwrap();
    let read = Document::read(&written).unwrap();
    assert_eq!(read.schedule(&network).unwrap(), schedule);
    assert_eq!(read.timetable(&network), table);
    let form = nodes::Form {
        base: ontick_tsn::model::Base::NextSecond,
        guard_bands: text.len() % 2 == 0,
        most_entries: nodes::MOST_ENTRIES,
        shortest_ns: 1,
        plane: None,
    };
    let _ = nodes::switches(&network, &schedule, form);
});
