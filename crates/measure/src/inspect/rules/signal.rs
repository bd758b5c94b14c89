//! Signals that interrupt the loop.

use ontick_record::findings::Severity;

use super::{Breach, Rule};

pub const RULE: Rule = Rule {
    id: "signal",
    severity: Severity::Warn,
    what: "signals delivered to the thread",
    why: "the handler runs in the middle of the loop, and calls that wait end early (EINTR)",
    mend: "block signals in this thread by pthread_sigmask(3), and take them in another one by sigwaitinfo(2) or signalfd(2)",
    source: "signal(7), pthread_sigmask(3), sigwaitinfo(2)",
};

const NAMES: [(i32, &str); 24] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGCHLD, "SIGCHLD"),
    (libc::SIGCONT, "SIGCONT"),
    (libc::SIGTSTP, "SIGTSTP"),
    (libc::SIGURG, "SIGURG"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGVTALRM, "SIGVTALRM"),
    (libc::SIGPROF, "SIGPROF"),
    (libc::SIGWINCH, "SIGWINCH"),
    (libc::SIGIO, "SIGIO"),
    (libc::SIGSYS, "SIGSYS"),
];

pub fn signal(number: i32) -> Breach {
    let name = NAMES.iter().find(|(of, _)| *of == number).map(|(_, name)| (*name).to_owned());
    Breach::new(&RULE, name.unwrap_or_else(|| format!("signal {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names() {
        assert_eq!([signal(14).detail, signal(34).detail], ["SIGALRM", "signal 34"]);
    }
}
