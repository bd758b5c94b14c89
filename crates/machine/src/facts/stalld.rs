//! stalld, which gives threads that starve a little time on a CPU that a real-time thread keeps for itself.

use ontick_units::CpuList;
use serde::Serialize;

use crate::root::Root;

/// How the stalld that runs was started. What its command line leaves out is as stalld(8) states it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stalld {
    /// The CPUs that it watches; `None` for all.
    pub cpus: Option<CpuList>,
    /// How long a thread starves before it gets time, in s.
    pub threshold_s: u64,
    /// The time that it gets in each period, in ns.
    pub runtime_ns: u64,
    /// The period, in ns.
    pub period_ns: u64,
    /// Whether starving threads are only logged.
    pub log_only: bool,
}

impl Stalld {
    /// The one that runs, if any.
    pub(crate) fn probe(root: &Root) -> Option<Self> {
        let names = root.matching("/proc/*/comm");
        let process = names.iter().find(|path| root.value(path).as_deref() == Some("stalld"))?;
        let arguments = root.text(&process.replace("/comm", "/cmdline")).unwrap_or_default();
        Some(Self::started_as(&arguments.split('\0').skip(1).collect::<Vec<_>>()))
    }

    fn started_as(arguments: &[&str]) -> Self {
        let number = |short, long, otherwise| {
            option(arguments, short, long).and_then(|value| value.parse().ok()).unwrap_or(otherwise)
        };
        Self {
            cpus: option(arguments, "-c", "--cpu").and_then(|list| list.parse().ok()),
            threshold_s: number("-t", "--starving_threshold", 60),
            runtime_ns: number("-r", "--boost_runtime", 20_000),
            period_ns: number("-p", "--boost_period", 1_000_000_000),
            log_only: arguments.iter().any(|word| matches!(*word, "-l" | "--log_only")),
        }
    }
}

/// An option's value in each form that getopt_long(3) takes: `-c 1`, `-c1`, `--cpu 1`, `--cpu=1`.
fn option<'a>(arguments: &[&'a str], short: &str, long: &str) -> Option<&'a str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if *word == short || *word == long {
            return words.next().copied();
        }
        let attached = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        let joined = || word.strip_prefix(short).filter(|_| !word.starts_with("--"));
        if let Some(value) = attached.or_else(joined) {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_command_line_says_whom_it_watches() {
        let plain = Stalld::started_as(&["--systemd", "--foreground"]);
        assert_eq!(
            (plain.cpus.clone(), plain.threshold_s, plain.runtime_ns, plain.period_ns),
            (None, 60, 20_000, 1_000_000_000)
        );
        assert!(!plain.log_only && Stalld::started_as(&["-l"]).log_only);
        for words in [&["-c", "1,3", "-t", "5"][..], &["-c1,3", "-t5"], &["--cpu=1,3", "--starving_threshold", "5"]] {
            let stalld = Stalld::started_as(words);
            assert_eq!((stalld.cpus, stalld.threshold_s), ("1,3".parse().ok(), 5), "{words:?}");
        }
        assert_eq!(Stalld::started_as(&["-r", "50000", "-p", "100000000", "-c"]).runtime_ns, 50_000);
    }
}
