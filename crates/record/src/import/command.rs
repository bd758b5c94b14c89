//! cyclictest's command line, as its JSON file quotes it: how the threads ran.

use crate::run::Settings;

/// The options that decide how a thread runs.
#[derive(Debug, Default)]
pub(super) struct Command {
    known: bool,
    interval_us: Option<u64>,
    distance_us: Option<u64>,
    priority: Option<u32>,
    spread: bool,
    policy: Option<String>,
    realtime_clock: bool,
    memory_locked: bool,
    relative: bool,
    system: bool,
    posix_timers: bool,
    histogram: bool,
}

/// Short options whose value may stand in the next word.
const WITH_VALUE: &str = "bcdDFhHilop";
/// Short options whose value, if any, stands in the same word (or is looked for in the next by cyclictest
/// itself, where it cannot be taken for an option).
const WITH_OPTIONAL_VALUE: &str = "aAt";

impl Command {
    /// Reads the words of a command line. What it does not know, it passes over.
    pub fn parse(line: &str) -> Self {
        let mut command = Command { known: !line.trim().is_empty(), ..Command::default() };
        let mut words = line.split_whitespace().skip(1);
        while let Some(word) = words.next() {
            if let Some(option) = word.strip_prefix("--") {
                match option.split_once('=') {
                    Some((name, value)) => command.set(name, value),
                    None if takes_value(option) => command.set(option, words.next().unwrap_or_default()),
                    None => command.set(option, ""),
                }
            } else if let Some(letters) = word.strip_prefix('-') {
                command.short(letters, &mut words);
            }
        }
        command
    }

    /// One word of short options: `-mqp90`.
    fn short<'a>(&mut self, letters: &'a str, words: &mut impl Iterator<Item = &'a str>) {
        for (i, letter) in letters.char_indices() {
            let rest = &letters[i + letter.len_utf8()..];
            if WITH_VALUE.contains(letter) {
                let value = if rest.is_empty() { words.next().unwrap_or_default() } else { rest };
                return self.set(letter.encode_utf8(&mut [0; 4]), value);
            }
            if WITH_OPTIONAL_VALUE.contains(letter) {
                return;
            }
            self.set(letter.encode_utf8(&mut [0; 4]), "");
        }
    }

    fn set(&mut self, option: &str, value: &str) {
        match option {
            "i" | "interval" => self.interval_us = value.parse().ok(),
            "d" | "distance" => self.distance_us = value.parse().ok(),
            "p" | "priority" => self.priority = value.parse().ok(),
            "priospread" => self.spread = true,
            "policy" => self.policy = Some(value.to_ascii_lowercase()),
            "c" | "clock" => self.realtime_clock = value == "1",
            "m" | "mlockall" => self.memory_locked = true,
            "r" | "relative" => self.relative = true,
            "s" | "system" => self.system = true,
            "x" | "posix_timers" => self.posix_timers = true,
            "h" | "histogram" | "H" | "histofall" => self.histogram = true,
            _ => {}
        }
    }

    /// How a thread ran. Empty without a command line.
    pub fn settings(&self, thread: usize) -> Settings {
        if !self.known {
            return Settings { method: "clock_nanosleep".into(), ..Settings::default() };
        }
        let thread = thread as u64;
        // Each further thread's interval is longer by the distance, unless there is a histogram.
        let distance = if self.histogram { 0 } else { self.distance_us.unwrap_or(500) };
        let interval_us = self.interval_us.unwrap_or(1_000).saturating_add(distance.saturating_mul(thread));
        Settings {
            method: self.method().into(),
            interval_ns: interval_us.saturating_mul(1_000),
            policy: self.policy_of(thread),
            memory_locked: self.memory_locked,
            clock: if self.realtime_clock { "realtime" } else { "monotonic" }.into(),
            ..Settings::default()
        }
    }

    fn method(&self) -> &'static str {
        match self {
            Command { system: true, posix_timers: true, .. } => "nanosleep",
            Command { posix_timers: true, .. } => "posix timer",
            Command { system: true, .. } => "nanosleep",
            Command { relative: true, .. } => "clock_nanosleep (relative)",
            _ => "clock_nanosleep",
        }
    }

    fn policy_of(&self, thread: u64) -> String {
        let real_time = self.policy.as_deref().filter(|p| ["fifo", "rr"].contains(p));
        let spread = if self.spread { thread } else { 0 };
        match (self.priority.unwrap_or(0), real_time) {
            // cyclictest chooses a priority from the number of threads then; the command does not tell it.
            (0, Some(policy)) => policy.into(),
            (0, None) if self.spread => "fifo".into(),
            (0, None) => "other".into(),
            (priority, policy) => {
                format!("{}:{}", policy.unwrap_or("fifo"), u64::from(priority).saturating_sub(spread))
            }
        }
    }
}

fn takes_value(long: &str) -> bool {
    let with_value = [
        "breaktrace",
        "clock",
        "distance",
        "duration",
        "fifo",
        "histogram",
        "histofall",
        "histfile",
        "interval",
        "json",
        "latency",
        "loops",
        "mainaffinity",
        "oscope",
        "policy",
        "priority",
        "spike",
        "spike-nodes",
    ];
    with_value.contains(&long)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &str, thread: usize) -> Settings {
        Command::parse(line).settings(thread)
    }

    #[test]
    fn options_read_in_every_spelling() {
        for line in [
            "cyclictest -t2 -a -mqp90 -i 250 -d100",
            "cyclictest --threads=2 --affinity --mlockall --quiet --priority 90 --interval=250 --distance 100",
            "cyclictest -m -a 0-1 -t 2 -D1h -p90 -d 100 -i250 --json=x.json",
        ] {
            let s = settings(line, 1);
            assert_eq!((s.interval_ns, s.policy.as_str(), s.memory_locked), (350_000, "fifo:90", true), "{line}");
            assert_eq!((s.method.as_str(), s.clock.as_str()), ("clock_nanosleep", "monotonic"), "{line}");
        }
    }

    #[test]
    fn ways_of_waiting_are_told_apart() {
        for (options, method) in [
            ("-r", "clock_nanosleep (relative)"),
            ("-s", "nanosleep"),
            ("-x", "posix timer"),
            ("--posix_timers --relative", "posix timer"),
        ] {
            assert_eq!(settings(&format!("cyclictest {options}"), 0).method, method);
        }
        assert_eq!(settings("cyclictest -h 400", 3).interval_ns, 1_000_000);
        assert_eq!(settings("cyclictest", 3).interval_ns, 2_500_000);
    }

    /// Values that look like options of their own must not be taken for them.
    #[test]
    fn an_options_value_is_no_option() {
        for (line, interval_ns, policy) in [
            ("cyclictest --loops 100 -p 80", 1_000_000, "fifo:80"),
            ("cyclictest --histfile -p5 -p 80", 1_000_000, "fifo:80"),
            ("cyclictest -l 100 -o 3 -b 7 -F -m -p80", 1_000_000, "fifo:80"),
            ("cyclictest -qb9 -p80 i", 1_000_000, "fifo:80"),
            ("cyclictest -t4 -a3 -Ap -p80 -i 200", 200_000, "fifo:80"),
            ("cyclictest --mainaffinity 2 --spike 9 --json -p1 --interval 300", 300_000, "other"),
        ] {
            let s = settings(line, 0);
            assert_eq!((s.interval_ns, s.policy.as_str(), s.memory_locked), (interval_ns, policy, false), "{line}");
        }
        assert_eq!(settings("-p 80", 0).policy, "other", "the first word is the program");
    }

    #[test]
    fn each_option_sets_what_it_names() {
        for (options, clock, locked) in
            [("-c 1 -m", "realtime", true), ("--clock=1", "realtime", false), ("-c0", "monotonic", false)]
        {
            let s = settings(&format!("cyclictest {options}"), 0);
            assert_eq!((s.clock.as_str(), s.memory_locked), (clock, locked), "{options}");
        }
        assert_eq!(settings("cyclictest -s -x", 0).method, "nanosleep");
        assert_eq!(settings("cyclictest --system", 0).method, "nanosleep");
        // With a histogram all threads have one interval; else each further one a longer one.
        for histogram in ["-h 400", "-H400", "--histogram=400", "--histofall 400"] {
            assert_eq!(settings(&format!("cyclictest -i100 {histogram}"), 2).interval_ns, 100_000, "{histogram}");
        }
        assert_eq!(settings("cyclictest -i100 -d10", 2).interval_ns, 120_000);
        assert_eq!(settings("cyclictest --priospread", 2).policy, "fifo");
        assert_eq!(settings("cyclictest --priospread -p 1 --policy fifo", 2).policy, "fifo:0");
    }

    #[test]
    fn policies_are_told_apart() {
        for (options, policy) in [
            ("", "other"),
            ("--policy=rr -p 20", "rr:20"),
            ("--policy rr", "rr"),
            ("-p80 --priospread", "fifo:79"),
            ("--policy=batch", "other"),
        ] {
            assert_eq!(settings(&format!("cyclictest {options}"), 1).policy, policy, "{options}");
        }
        assert_eq!(settings("", 0), Settings { method: "clock_nanosleep".into(), ..Settings::default() });
    }
}
