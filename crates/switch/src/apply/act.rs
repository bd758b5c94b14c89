//! One thing that is done to the machine, as a value: it can be shown, kept, done again, and refused by a test.

use std::fmt;

use ontick_ethtool::mac_merge;
use serde::{Deserialize, Serialize};

use crate::qdisc::Taprio;

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "act")]
pub enum Act {
    /// A program with its arguments; no shell is between.
    Run {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// The same, with something to read on its standard input.
    Feed {
        /// The program and its arguments.
        argv: Vec<String>,
        /// What it reads.
        input: String,
    },
    /// The first that the machine takes.
    First {
        /// In the order in which they are tried.
        of: Vec<Vec<String>>,
    },
    /// A value into a file of the kernel.
    Write {
        /// The file.
        path: String,
        /// The value.
        value: String,
    },
    /// Offloads of a port.
    Features {
        /// The port.
        port: String,
        /// Each by its name, and whether it is to be on.
        wanted: Vec<(String, bool)>,
    },
    /// Gates of a port that tc cannot set.
    Gates {
        /// The port.
        port: String,
        /// Its taprio.
        taprio: Taprio,
    },
    /// The port's MAC Merge sublayer, by which it preempts frames.
    MacMerge {
        /// The port.
        port: String,
        /// What it is to be.
        wanted: mac_merge::Settings,
    },
    /// Waits until the port has a link, but no longer than so; that there is none is no fault.
    AwaitLink {
        /// The port.
        port: String,
        /// The longest time, in ms.
        at_most_ms: u64,
    },
}

impl Act {
    /// A program with its arguments, written with spaces between them (none of them has one within).
    pub fn run(words: impl AsRef<str>) -> Self {
        Act::Run { argv: words.as_ref().split_whitespace().map(str::to_owned).collect() }
    }
}

impl fmt::Display for Act {
    /// As a person would type it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Act::Run { argv } => write!(f, "{}", words(argv)),
            Act::Feed { argv, input } => write!(f, "{} <<'END'\n{}\nEND", words(argv), input.trim_end()),
            Act::First { of } => write!(f, "{}", of.iter().map(|argv| words(argv)).collect::<Vec<_>>().join(" || ")),
            Act::Write { path, value } => write!(f, "echo {value} >{path}"),
            Act::Features { port, wanted } => {
                write!(f, "ethtool -K {port}")?;
                wanted.iter().try_for_each(|(name, on)| write!(f, " {name} {}", if *on { "on" } else { "off" }))
            }
            Act::Gates { port, taprio } => {
                write!(f, "tc qdisc replace dev {port} {} # by rtnetlink", taprio.words())
            }
            Act::MacMerge { port, wanted } => write!(f, "ethtool --set-mm {port} {wanted}"),
            Act::AwaitLink { port, at_most_ms } => {
                write!(f, "# wait up to {} s for {port}'s link", at_most_ms.div_ceil(1000))
            }
        }
    }
}

/// Words as a shell would take them apart again.
fn words(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:/@=+%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
