//! Which guard band the kernel's gates want: taprio looks at the gate some time before a frame leaves, and takes a frame to
//! be as long as the interface's own rate makes it.

use ontick_record::switching::Trial;
use ontick_units::{exact, show};

/// What is later than this did not come of the way from the gate to the wire, in ns.
const WAY_NS: u64 = 100_000;
const US: u64 = 1_000;

/// What to say about frames that left behind a closing gate, if a guard band would have held them; `guard_ns` is the one
/// that there was, `tolerated_ns` what does not count as late.
pub fn advice(trial: &Trial, guard_ns: u64, tolerated_ns: u64) -> Option<String> {
    let late = trial.violations.iter().filter(|violation| violation.late && violation.by_ns <= WAY_NS);
    let worst_ns = late.map(|violation| violation.by_ns).max()?;
    let wanted_ns = (guard_ns + worst_ns.saturating_sub(tolerated_ns)).next_multiple_of(US) + US;
    Some(format!(
        "frames left up to {} after their gate had closed: the kernel looks at the gate that long before a frame leaves. A \
         guard band of {} would have held these (`guard-band` of the port's gates)",
        show(worst_ns),
        exact(wanted_ns)
    ))
}

#[cfg(test)]
mod tests {
    use ontick_record::switching::Violation;

    use super::*;

    fn trial(violations: &[(u64, bool)]) -> Trial {
        let violation =
            |(by_ns, late): &(u64, bool)| Violation { by_ns: *by_ns, late: *late, frames: 1, ..Violation::default() };
        Trial { violations: violations.iter().map(violation).collect(), ..Trial::default() }
    }

    #[test]
    fn the_latest_frame_that_a_guard_band_can_hold_counts() {
        let advised = |trial, guard_ns| advice(&trial, guard_ns, 1_000);
        let said = advised(trial(&[(9_140, true), (15_020, true), (5_000_000, true), (40_000, false)]), 0).unwrap();
        assert!(said.contains("15.0us after") && said.contains("guard band of 16us"), "{said}");
        assert!(advised(trial(&[(4_300, true)]), 12_304).unwrap().contains("of 17us"));
        assert_eq!(advised(trial(&[]), 0), None);
        assert_eq!(advised(trial(&[(5_000_000, true), (3_000, false)]), 0), None);
    }
}
