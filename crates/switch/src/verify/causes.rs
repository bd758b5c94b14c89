//! Why frames were outside their window, as far as the switch knows.

use ontick_units::show;

use super::analysis::Violation;
use crate::user::core::{STALL_NS, Stall};

/// The core notices a stall only when it looks at its clock the next time, in ns.
const SLACK_NS: u64 = 20_000;

/// What made these frames late: that the switch did not run between the closing of their gate and their arrival, or took
/// longer than usual to hand one over.
pub fn of(violation: &Violation, stalls: &[Stall]) -> Option<String> {
    if !violation.late {
        return None;
    }
    // What ended late may have been held up before it began.
    let from_ns = violation.edge_ns.min(violation.at_ns);
    let meanwhile = |stall: &&Stall| stall.from_ns <= violation.until_ns && stall.until_ns + SLACK_NS >= from_ns;
    let longest = stalls.iter().filter(meanwhile).max_by_key(|stall| stall.until_ns - stall.from_ns)?;
    let length_ns = longest.until_ns - longest.from_ns;
    Some(match length_ns > STALL_NS {
        true => format!("the switch did not run for {}", show(length_ns)),
        false => format!("handing it over took {}", show(length_ns)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(edge_ns: u64, at_ns: u64, late: bool) -> Violation {
        Violation {
            flow: 0,
            at_ns,
            until_ns: at_ns,
            frames: 1,
            by_ns: at_ns.abs_diff(edge_ns),
            late,
            ends: false,
            edge_ns,
        }
    }

    #[test]
    fn a_stall_over_the_closing_is_the_cause() {
        let stalls =
            [Stall { from_ns: 790_000, until_ns: 6_000_000 }, Stall { from_ns: 90_000_000, until_ns: 91_000_000 }];
        assert_eq!(
            of(&violation(800_000, 6_001_000, true), &stalls).as_deref(),
            Some("the switch did not run for 5.21ms")
        );
        assert_eq!(of(&violation(8_000_000, 8_000_900, true), &stalls), None);
        let slow = [Stall { from_ns: 785_000, until_ns: 787_100 }];
        assert_eq!(of(&violation(800_000, 786_900, true), &slow).as_deref(), Some("handing it over took 2.10us"));
        assert_eq!(of(&violation(800_000, 700_000, false), &stalls), None);
    }
}
