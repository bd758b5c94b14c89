//! Waits on a clock that jumps.

use ontick_record::findings::Severity;

use super::{Breach, Ended, Rule};
use crate::inspect::calls::OpenFile;

const RULE: Rule = Rule {
    id: "clock",
    severity: Severity::Bad,
    what: "waits on a clock that can be set",
    why: "when somebody sets the time (date, NTP at start, a leap second), the wait ends at once or lasts that much longer",
    mend: "wait on CLOCK_MONOTONIC; for a timerfd on CLOCK_REALTIME use TFD_TIMER_CANCEL_ON_SET",
    source: "clock_nanosleep(2), timerfd_create(2), pthread_condattr_setclock(3p); Documentation/trace/rv/monitor_rtapp.rst",
};

const REALTIME: u64 = 0;
const REALTIME_ALARM: u64 = 8;
const ABSOLUTE: u64 = 1;
/// futex(2): the time that it waits for at most is of the real-time clock.
const FUTEX_REALTIME: u64 = 256;
/// futex(2): operations that may have such a time.
const FUTEX_WAITS: [u64; 3] = [9, 11, 13];
/// futex(2): FUTEX_LOCK_PI, whose time is always of that clock, and needs no flag.
const FUTEX_LOCK_PI: u64 = 6;

pub fn clock(ended: &Ended) -> Option<Breach> {
    let call = ended.call;
    let arguments = &call.arguments;
    if call.is(&["clock_nanosleep"])
        && [REALTIME, REALTIME_ALARM].contains(&arguments[0])
        && arguments[1] & ABSOLUTE != 0
    {
        return Some(Breach::new(&RULE, "clock_nanosleep by CLOCK_REALTIME"));
    }
    if let (true, Some(OpenFile::Timer { settable: true })) = (call.is(&["read"]), &call.file) {
        return Some(Breach::new(&RULE, "read of a timerfd by CLOCK_REALTIME"));
    }
    // Without a time the flag says nothing: pthread_cond_wait(3p) sets it always.
    let (operation, flags) = call.futex()?;
    let settable = operation == FUTEX_LOCK_PI || FUTEX_WAITS.contains(&operation) && flags & FUTEX_REALTIME != 0;
    (settable && arguments[3] != 0).then(|| Breach::new(&RULE, "futex with a time by CLOCK_REALTIME"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::calls::Call;
    use crate::inspect::calls::tests::call;
    use crate::inspect::rules::tests::judged;

    #[test]
    fn clocks_that_can_be_set_are_named() {
        let id = |call: Call| judged(&call).map(|breach| breach.rule.id);
        assert_eq!(id(call("clock_nanosleep", [0, 1, 0, 0, 0, 0])), Some("clock"));
        assert_eq!(id(call("clock_nanosleep", [1, 1, 0, 0, 0, 0])), None);
        assert_eq!(id(call("clock_nanosleep", [11, 1, 0, 0, 0, 0])), None, "TAI");
        let read = |settable| Call { file: Some(OpenFile::Timer { settable }), ..call("read", [3, 0, 8, 0, 0, 0]) };
        assert_eq!((id(read(true)), id(read(false))), (Some("clock"), None));
        let wait = |time| call("futex", [0x1000, 9 | 128 | 256, 0, time, 0, 0]);
        assert_eq!((id(wait(0x2000)), id(wait(0))), (Some("clock"), None));
        let lock = |operation: u64, time| call("futex", [0x1000, operation | 128, 0, time, 0, 0]);
        assert_eq!((id(lock(6, 0x2000)), id(lock(6, 0))), (Some("clock"), None), "pthread_mutex_timedlock(3p)");
        assert_eq!(id(lock(13, 0x2000)), None, "FUTEX_LOCK_PI2 without the flag: by CLOCK_MONOTONIC");
    }
}
