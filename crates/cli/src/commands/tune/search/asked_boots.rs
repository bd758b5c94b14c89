//! What a search by restarts was asked for besides what every search is.

use ontick_machine::boot::Argument;
use ontick_machine::facts::Arguments;
use serde::{Deserialize, Serialize};

/// Of a search by restarts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedBoots {
    /// Boots at most.
    pub most: u64,
    /// Blocks in each.
    pub blocks: u64,
    pub settle_ns: u64,
    /// The kernel that is searched.
    pub release: String,
    /// The command line of the usual boot.
    pub usual: String,
    /// What each candidate adds to it.
    pub arguments: Vec<String>,
}

impl AskedBoots {
    /// The arguments of an arm.
    pub fn of_arm<'a>(&'a self, arm: &'a [usize]) -> impl Iterator<Item = Argument> + 'a {
        arm.iter().map(|n| argument(&self.arguments[*n]))
    }

    /// Whether a boot with this command line is one of that arm.
    pub fn is_arm(&self, arm: &[usize], release: &str, cmdline: &str) -> bool {
        let given = Arguments::parse(cmdline);
        release == self.release
            && match arm.is_empty() {
                true => cmdline == self.usual,
                false => self.of_arm(arm).all(|wanted| given.iter().any(|word| word == wanted.text())),
            }
    }
}

/// An argument as it stands on the command line.
pub fn argument(text: &str) -> Argument {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    Argument { key: key.into(), value: value.into(), why: "" }
}
