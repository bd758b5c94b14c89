//! A piece of configuration that makes a kernel real-time: what is asked for, why, and how it is laid over another.

use super::board::Board;
use super::options::{Arch, OPTIONS, Want};

/// One option that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionRequest {
    /// Without `CONFIG_`.
    pub name: String,
    /// Its value; `None` for not set.
    pub value: Option<String>,
    /// Why; empty where a person asks.
    pub why: String,
    /// An option without which this one has nothing to say.
    pub given: Option<&'static str>,
}

impl OptionRequest {
    fn new(name: &str, value: &str, why: &str) -> Self {
        let value = (value != "n").then(|| value.to_owned());
        Self { name: name.into(), value, why: why.into(), given: None }
    }

    /// Not to be set.
    pub fn off(name: &str, why: &str) -> Self {
        Self::new(name, "n", why)
    }

    /// Whether what became of it is what was asked for: who asks for a module is content with more.
    pub fn fits(&self, actual: Option<&str>) -> bool {
        let actual = actual.filter(|value| *value != "n");
        actual == self.value.as_deref() || self.value.as_deref() == Some("m") && actual == Some("y")
    }

    /// As in a configuration.
    pub fn line(&self) -> String {
        match &self.value {
            None => format!("# CONFIG_{} is not set", self.name),
            Some(value) if is_bare(value) => format!("CONFIG_{}={value}", self.name),
            Some(value) => format!("CONFIG_{}=\"{}\"", self.name, value.replace('\\', "\\\\").replace('"', "\\\"")),
        }
    }
}

/// n, m, y and numbers stand without quotes.
fn is_bare(value: &str) -> bool {
    let hex = |v: &str| v.strip_prefix("0x").is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_hexdigit()));
    matches!(value, "y" | "m") || value.parse::<i64>().is_ok() || hex(value)
}

/// What PREEMPT_RT and its companions want beside the options of the table.
const SUPPORT: &[(&str, &str, &str)] = &[
    ("EXPERT", "y", "PREEMPT_RT is offered to experts only"),
    ("PREEMPT_NONE", "n", "another preemption model"),
    ("PREEMPT_VOLUNTARY", "n", "another preemption model"),
    ("PREEMPT", "n", "another preemption model"),
    ("IKCONFIG", "y", "the check of a running kernel reads it"),
    ("IKCONFIG_PROC", "y", "the check of a running kernel reads it"),
    ("FTRACE", "y", "the tracers"),
    ("CGROUPS", "y", "the cpusets"),
    ("GPIOLIB", "y", "GPIO lines"),
    ("NET", "y", "the schedulers of network ports"),
    ("NET_SCHED", "y", "the schedulers of network ports"),
];

/// Ticks a second that a kernel offers.
const RATES: [u32; 4] = [100, 250, 300, 1000];

/// Several cores are what these are about.
const ONLY_WITH_SEVERAL_CORES: [&str; 4] = ["NO_HZ_FULL", "RCU_NOCB_CPU", "CPU_ISOLATION", "CPUSETS"];

/// What makes a kernel of this board, architecture and version real-time.
pub fn fragment(board: &Board, arch: Arch, version: Option<(u32, u32)>) -> Vec<OptionRequest> {
    let mut asked = Vec::new();
    for option in OPTIONS.iter().filter(|option| option.exists(Some(arch), version)) {
        if !board.several_cores && ONLY_WITH_SEVERAL_CORES.contains(&option.name) {
            continue;
        }
        let one = |value| OptionRequest { given: option.given, ..OptionRequest::new(option.name, value, option.why) };
        match option.want {
            Want::BuiltIn => asked.push(one("y")),
            Want::On => asked.push(one("m")),
            Want::Off => asked.push(one("n")),
            // The rate is a choice; its number follows.
            Want::AtLeast(_) => asked.extend(RATES.iter().map(|hz| {
                let value = if *hz == board.hz { "y" } else { "n" };
                OptionRequest::new(&format!("HZ_{hz}"), value, option.why)
            })),
        }
    }
    if board.several_cores {
        asked.push(OptionRequest::new("NO_HZ_IDLE", "n", "another way to tick"));
        asked.push(OptionRequest::new("HZ_PERIODIC", "n", "another way to tick"));
        asked.push(OptionRequest::new("SMP", "y", "all of its cores"));
    }
    // Since 6.13 PREEMPT_RT stands beside the other models: PREEMPT or PREEMPT_LAZY is on with it.
    let beside = version.is_some_and(|version| version >= (6, 13));
    let support = SUPPORT.iter().filter(|(name, ..)| !(beside && *name == "PREEMPT"));
    asked.extend(support.map(|(name, value, why)| OptionRequest::new(name, value, why)));
    let known = |name: &str| asked.iter().any(|asked| asked.name == name);
    let needs = board.needs.iter().filter(|(name, ..)| !known(name));
    let needs: Vec<OptionRequest> = needs.map(|(name, value, why)| OptionRequest::new(name, value, why)).collect();
    asked.extend(needs);
    asked
}

/// A line that is no configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// Something else.
    #[error("line {line}: \"{text}\" is neither CONFIG_NAME=VALUE nor # CONFIG_NAME is not set")]
    NoOption {
        /// Its number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// An option that cannot be one.
    #[error("line {line}: \"{name}\" is no name of an option")]
    BadName {
        /// Its number, from 1.
        line: usize,
        /// The name.
        name: String,
    },
}

/// Reads a piece of configuration that a person wrote.
pub fn parse(text: &str) -> Result<Vec<OptionRequest>, FragmentError> {
    let mut asked = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let off = line.strip_prefix("# CONFIG_").and_then(|rest| rest.strip_suffix(" is not set"));
        let set = line.strip_prefix("CONFIG_").and_then(|rest| rest.split_once('='));
        let (name, value) = match (off, set) {
            (Some(name), _) => (name, None),
            (_, Some((name, value))) => (name, Some(unquoted(value)).filter(|value| value != "n")),
            _ if line.is_empty() || line.starts_with('#') => continue,
            _ => {
                return Err(FragmentError::NoOption { line: number + 1, text: line.into() });
            }
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(FragmentError::BadName { line: number + 1, name: name.into() });
        }
        asked.push(OptionRequest { name: name.into(), value, why: String::new(), given: None });
    }
    Ok(asked)
}

fn unquoted(value: &str) -> String {
    match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => value.to_owned(),
    }
}

/// Later ones replace earlier ones of the same name.
pub fn last_wins(asked: Vec<OptionRequest>) -> Vec<OptionRequest> {
    let mut kept: Vec<OptionRequest> = Vec::new();
    for one in asked {
        kept.retain(|other| other.name != one.name);
        kept.push(one);
    }
    kept
}

/// As a file that `merge_config.sh` takes, too, each option under its reason.
pub fn text(asked: &[OptionRequest]) -> String {
    let mut text = String::new();
    let mut why = "";
    for one in asked {
        if one.why != why {
            why = &one.why;
            text += &format!("# {why}\n");
        }
        text += &format!("{}\n", one.line());
    }
    text
}

/// Lays what is asked for over another configuration, whose own lines on the same options go.
pub fn merged(base: &str, asked: &[OptionRequest]) -> String {
    let names: std::collections::BTreeSet<&str> = asked.iter().map(|asked| asked.name.as_str()).collect();
    let name = |line: &'_ str| -> Option<String> {
        let rest = line.strip_prefix("CONFIG_").or_else(|| line.strip_prefix("# CONFIG_"))?;
        Some(rest.split(['=', ' ']).next()?.to_owned())
    };
    let kept = base.lines().filter(|line| name(line).is_none_or(|name| !names.contains(name.as_str())));
    let own = asked.iter().map(OptionRequest::line);
    // Whatever ended a line: the next reading must find the same.
    kept.map(|line| line.trim_end_matches('\r').to_owned()).chain(own).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use ontick_machine::facts::KernelConfig;
    use ontick_record::Severity;
    use proptest::prelude::*;

    #[test]
    fn laid_over_twice_is_as_once() {
        let asked = [OptionRequest { name: "A".into(), value: Some("y".into()), why: String::new(), given: None }];
        let once = merged("CONFIG_A=m\r\n# other\r\r\r\n", &asked);
        assert_eq!(once, "# other\nCONFIG_A=y\n");
        assert_eq!(merged(&once, &asked), once);
    }

    #[test]
    fn a_kernel_that_got_all_it_asked_for_is_fit() {
        for board in super::super::board::BOARDS {
            for arch in board.arches {
                let asked = fragment(board, *arch, Some((6, 12)));
                let hz = format!("CONFIG_{}=y\nCONFIG_HZ={}\n", arch.name().to_uppercase(), board.hz);
                let config = KernelConfig::parse("x", &(text(&asked) + &hz));
                let found = check(&config, Some((6, 12)));
                let left: Vec<_> = found.iter().filter(|f| f.severity != Severity::Ok).map(|f| &f.id).collect();
                let single = board.several_cores || left.iter().all(|id| ONLY_WITH_SEVERAL_CORES.contains(&&id[7..]));
                assert!(single && (left.is_empty() || !board.several_cores), "{} {left:?}", board.name);
                let mut names: Vec<_> = asked.iter().map(|a| a.name.as_str()).collect();
                names.sort_unstable();
                names.windows(2).for_each(|w| assert_ne!(w[0], w[1]));
            }
        }
    }

    #[test]
    fn a_fragment_replaces_what_the_base_says() {
        let base = "# head\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_AB=m\n";
        let asked = parse("CONFIG_B=m\nCONFIG_S=\"a \\\"b\\\"\"\n# CONFIG_A is not set\n\n# words\n").unwrap();
        assert_eq!(
            merged(base, &asked),
            "# head\nCONFIG_AB=m\nCONFIG_B=m\nCONFIG_S=\"a \\\"b\\\"\"\n# CONFIG_A is not set\n"
        );
        assert!(asked[0].fits(Some("y")) && asked[0].fits(Some("m")) && !asked[0].fits(None));
        assert!(asked[2].fits(None) && asked[2].fits(Some("n")) && !asked[2].fits(Some("m")));
        assert_eq!(parse("CONFIG_A=y\nB=y\n").unwrap_err().to_string().split(':').next(), Some("line 2"));
        assert!(parse("CONFIG_A B=y").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::btree_map("[A-Z][A-Z0-9_]{0,9}", prop::option::of("y|m|[0-9]{1,4}|0x[0-9a-f]{1,4}|[ a-z\"\\\\-]{0,6}x"), 0..9)) {
            let asked: Vec<OptionRequest> = values.into_iter().map(|(name, value)| OptionRequest { name, value, why: String::new(), given: None }).collect();
            let lines: String = asked.iter().map(|a| a.line() + "\n").collect();
            prop_assert_eq!(parse(&lines).unwrap(), asked);
        }
    }
}
