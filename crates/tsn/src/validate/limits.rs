//! What a plan asks of ports that they cannot do.

use super::{Fault, MOST_MESSAGES, Schedule, Target, ValidationInput, validate_gates};
use crate::network::Network;

/// What a plan's gates have that the target's ports cannot do, in words; nothing where they can.
pub fn beyond_target(network: &Network, schedule: &Schedule, target: &Target) -> Option<String> {
    let guard_bands = !target.length_aware;
    let input = ValidationInput { network, schedule, target, guard_bands, most_messages: MOST_MESSAGES };
    let verdict = validate_gates(&input);
    let fault = verdict.faults.first()?;
    let first = match fault {
        Fault::Entries(..) => format!("{}, and there may be {}", fault.in_words(network), target.most_entries),
        _ => fault.in_words(network),
    };
    let more = match verdict.counts.values().sum::<u64>() - 1 {
        0 => String::new(),
        more => format!(" (and {} more)", ontick_units::count(more)),
    };
    Some(format!(
        "the target \"{}\" cannot carry this plan: {first}{more}; prefer few entries, or try periods that divide each other, or fewer streams",
        target.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network;
    use crate::planning::{Outcome, PlanOptions, Timetable, close_short_gaps, gate_control_list, plan};
    use crate::target::{TARGETS, named};
    use crate::validate::validate;

    /// Two streams that come to one port just behind each other: 40 ns lie between their windows on an i210.
    const NETWORK: &str = r#"
[network]
processing = "1us"
[[switch]]
name = "s1"
[[station]]
name = "a"
[[station]]
name = "b"
[[station]]
name = "c"
[[link]]
between = ["a", "s1"]
[[link]]
between = ["c", "s1"]
[[link]]
between = ["s1", "b"]
[[stream]]
name = "x"
from = "a"
to = "b"
size = 64
period = "1ms"
[[stream]]
name = "y"
from = "c"
to = "b"
size = 100
period = "1ms"
"#;

    fn planned(target: &Target, shortest_ns: u64) -> (Network, Timetable, Schedule) {
        let network = network::read(NETWORK).unwrap().timed(target.timing());
        let options = PlanOptions { shortest_ns, ..PlanOptions::default() };
        let Outcome::Planned(table) = plan(&network, &options, &Timetable::default(), &|| true) else { panic!() };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        (network, table, schedule)
    }

    #[test]
    fn a_plan_for_a_target_is_valid_there_or_what_is_beyond_it_is_said() {
        let mut said = Vec::new();
        for target in TARGETS {
            let (network, table, mut schedule) = planned(target, target.shortest_ns);
            close_short_gaps(&mut schedule, target.shortest_ns, &network, &table);
            let beyond = beyond_target(&network, &schedule, target);
            let input = ValidationInput {
                network: &network,
                schedule: &schedule,
                target,
                guard_bands: !target.length_aware,
                most_messages: 1_000,
            };
            let verdict = validate(&input);
            assert_eq!(beyond.is_none(), verdict.holds(), "{}: {beyond:?} {:?}", target.name, verdict.faults);
            said.extend(beyond.map(|_| target.name));
        }
        assert_eq!(said, ["i225"], "whose gates open once in a cycle");
    }

    #[test]
    fn gaps_too_short_for_an_entry_are_beyond_a_target_unless_it_was_planned_for() {
        let target = named("i210").unwrap();
        let beyond = |shortest_ns, target: &Target| {
            let (network, table, mut schedule) = planned(named("i210").unwrap(), shortest_ns);
            close_short_gaps(&mut schedule, target.shortest_ns, &network, &table);
            beyond_target(&network, &schedule, target)
        };
        // The second frame may be there in the gap, and would leave in it.
        let short = beyond(1, target).unwrap();
        assert!(short.contains("target \"i210\"") && short.contains("an entry lasts"), "{short}");
        assert_eq!(beyond(target.shortest_ns, target), None);
        let few = Target { most_entries: 2, ..*target };
        let long = beyond(target.shortest_ns, &few).unwrap();
        assert!(long.contains("entries, and there may be 2"), "{long}");
    }
}
