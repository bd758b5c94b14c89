//! Synchronisation by PTP over time: what is lost, and comes back.

use super::ptp::Synchronised;

/// Further than this from the grandmaster, gates are not where other devices have theirs, in ns.
const FAR_NS: u64 = 10_000;

/// How the clock was kept in time when it was last looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synchronisation {
    before: Option<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// ptp4l does not run, or does not answer.
    Unknown,
    Shared,
    Far,
    Lost,
}

impl Synchronisation {
    /// What has changed, as a sentence, given what ptp4l says where it answers. A machine that never was synchronised has nothing to lose.
    pub fn poll(&mut self, ptp4l: Option<&Synchronised>) -> Option<String> {
        let state = state(ptp4l);
        let before = self.before.replace(state);
        let ports = || ptp4l.map(|ptp4l| ptp4l.ports.join(", ")).unwrap_or_default();
        let offset_ns = ptp4l.and_then(|ptp4l| ptp4l.offset_ns).unwrap_or(0);
        match (before?, state) {
            (before, now) if before == now => None,
            (State::Unknown, State::Lost) => None,
            (_, State::Lost) => Some(format!(
                "synchronisation is lost (PTP ports: {}): gates go on by this machine's own clock, and drift from others'",
                ports()
            )),
            (_, State::Unknown) => {
                Some("ptp4l does not answer any more: nobody keeps this machine's clock in time with others'".into())
            }
            (_, State::Far) => Some(format!("the clock is {offset_ns} ns from the grandmaster's: so are the gates")),
            (_, State::Shared) => Some(format!("the clock is in time with the network's ({offset_ns} ns)")),
        }
    }
}

fn state(ptp4l: Option<&Synchronised>) -> State {
    let far = |ptp4l: &Synchronised| ptp4l.offset_ns.is_some_and(|ns| ns.unsigned_abs() > FAR_NS);
    match ptp4l {
        None => State::Unknown,
        Some(ptp4l) if !ptp4l.is_shared() => State::Lost,
        Some(ptp4l) if !ptp4l.is_grandmaster() && far(ptp4l) => State::Far,
        Some(_) => State::Shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_reported_once() {
        let seen = |port: &str, offset_ns: i64| {
            Some(Synchronised { to_grandmaster: true, offset_ns: Some(offset_ns), ports: vec![port.into()] })
        };
        let mut sync = Synchronisation::default();
        let mut reported = |ptp4l: Option<Synchronised>| sync.poll(ptp4l.as_ref()).unwrap_or_default();
        assert_eq!(reported(seen("SLAVE", 40)), "");
        assert_eq!(reported(seen("SLAVE", -90)), "");
        assert!(reported(seen("UNCALIBRATED", 0)).contains("lost (PTP ports: UNCALIBRATED)"));
        assert_eq!(reported(seen("UNCALIBRATED", 0)), "");
        assert!(reported(seen("SLAVE", 25_000)).contains("25000 ns from the grandmaster's"));
        assert!(reported(seen("SLAVE", 70)).contains("in time with the network's (70 ns)"));
        assert!(reported(None).contains("does not answer any more"));
        assert_eq!(reported(None), "");
    }

    #[test]
    fn who_was_never_in_time_loses_nothing() {
        let mut sync = Synchronisation::default();
        assert_eq!([sync.poll(None), sync.poll(None)], [None, None]);
    }
}
