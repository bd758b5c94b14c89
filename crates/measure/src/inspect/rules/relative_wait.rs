//! Waits for a length of time, not for a point in time.

use ontick_record::findings::Severity;

use super::{Breach, Ended, Rule};

const RULE: Rule = Rule {
    id: "relative-wait",
    severity: Severity::Bad,
    what: "waits for a length of time",
    why: "it begins when the call is made: what the round took, and every delay before the call, is added to the period and stays",
    mend: "compute each deadline from the one before, and wait by clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)",
    source: "clock_nanosleep(2), NOTES; Documentation/trace/rv/monitor_rtapp.rst (monitor sleep)",
};

const ABSOLUTE: u64 = 1;
/// Their time is a bound to a wait for something else; if it is reached, it was what the loop waited for.
const WITH_TIMEOUT: [&str; 8] =
    ["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2", "rt_sigtimedwait"];
const AGAIN: i64 = -11;
const TIMED_OUT: i64 = -110;

pub fn relative_wait(ended: &Ended) -> Option<Breach> {
    let call = ended.call;
    let name = call.name()?;
    let relative = match name {
        "nanosleep" => true,
        "clock_nanosleep" => call.arguments[1] & ABSOLUTE == 0,
        // FUTEX_WAIT takes a length of time.
        "futex" => call.futex().is_some_and(|(operation, _)| operation == 0) && call.result == TIMED_OUT,
        "rt_sigtimedwait" => call.waited_ns > 0 && call.result == AGAIN,
        _ => WITH_TIMEOUT.contains(&name) && call.waited_ns > 0 && call.result == 0,
    };
    let timeout = if WITH_TIMEOUT.contains(&name) { " until its timeout" } else { "" };
    relative.then(|| Breach::new(&RULE, format!("{name}{timeout}")))
}

#[cfg(test)]
mod tests {
    use crate::inspect::calls::Call;
    use crate::inspect::calls::tests::call;
    use crate::inspect::rules::tests::judged;

    #[test]
    fn a_length_of_time_is_told_from_a_point_in_time_and_from_a_bound() {
        let detail = |call: Call| judged(&call).map(|breach| breach.detail);
        assert_eq!(detail(call("nanosleep", [0; 6])), Some("nanosleep".into()));
        assert_eq!(detail(call("clock_nanosleep", [1, 0, 0, 0, 0, 0])), Some("clock_nanosleep".into()));
        assert_eq!(detail(call("clock_nanosleep", [1, 1, 0, 0, 0, 0])), None);
        let poll = |result| Call { result, waited_ns: 900, ..call("ppoll", [0; 6]) };
        assert_eq!(detail(poll(0)), Some("ppoll until its timeout".into()));
        assert_eq!(detail(poll(1)), None, "something came");
        assert_eq!(detail(Call { waited_ns: 0, ..poll(0) }), None, "it only looked");
    }
}
