//! What irqbalance is told by the file that its service reads, so that it keeps off the timed CPUs from its start on.

use ontick_units::CpuList;

use super::{Argument, standing};
use crate::facts::arguments::{key_of, same_key};
use crate::facts::{Facts, cpus::cpus_of};
use crate::journal::Journal;
use crate::root::Root;
use crate::target::Target;

/// Goes before the other where it holds anything.
const MASK: &str = "IRQBALANCE_BANNED_CPUS";
const LIST: &str = "IRQBALANCE_BANNED_CPULIST";
/// Where units lie, the first going before the others.
const UNITS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// The file: of those that the service reads and people edit the last, which goes before the others.
pub(super) fn file(root: &Root) -> Option<String> {
    let unit = UNITS.iter().find_map(|folder| root.text(&format!("{folder}/irqbalance.service")).ok())?;
    let named = unit.lines().filter_map(|line| line.trim().strip_prefix("EnvironmentFile="));
    let mut files = named.map(|file| file.trim().trim_start_matches('-')).filter(|file| file.starts_with("/etc/"));
    files.next_back().map(str::to_owned)
}

/// The CPUs that irqbalance keeps off where its file names none.
pub(super) struct Isolated {
    /// Now, and not only by what an earlier plan of ontick's gave the running kernel and this one takes back.
    pub now: CpuList,
    /// By arguments of the next start.
    pub then: CpuList,
}

impl Isolated {
    /// With these arguments in the place of those of an earlier plan; `elsewhere` is a boot file that is not edited and gives
    /// arguments too.
    pub fn with(args: &[Argument], facts: &Facts, target: &Target, journal: &Journal, elsewhere: &str) -> Self {
        let is_given = |key: &str| args.iter().any(|argument| argument.key == key);
        let stays = |key: &str, now: &CpuList| {
            let running = facts.arguments.iter().filter(|argument| same_key(key_of(argument), key)).last();
            match running.and_then(|argument| standing::without_given(journal, argument)) {
                _ if is_given(key) => CpuList::default(),
                Some(rest) => named(rest, key, facts).or_else(|| named(elsewhere, key, facts)).unwrap_or_default(),
                None => now.clone(),
            }
        };
        Self {
            now: stays("isolcpus", &facts.cpus.isolated).with(&stays("nohz_full", &facts.cpus.nohz_full)),
            then: if is_given("isolcpus") { target.cpus.clone() } else { CpuList::default() },
        }
    }
}

/// The CPUs of the last such argument in a boot file, whatever else is in it.
fn named(text: &str, key: &str, facts: &Facts) -> Option<CpuList> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')));
    let value = words.filter_map(|word| word.split_once('=')).rfind(|(name, _)| same_key(name, key))?.1;
    cpus_of(Some(value), facts.cpus.online.last())
}

/// The text with a line, below `mark`, by which these CPUs are kept off besides those that are already; the same where all are.
pub(super) fn with(text: &str, off: &CpuList, isolated: &Isolated, mark: &str) -> Option<String> {
    let by_mask = value(text, MASK).filter(|mask| !mask.is_empty());
    let (already, and_then) = match (by_mask, value(text, LIST)) {
        (Some(mask), _) => (CpuList::from_mask(mask).ok()?, None),
        (None, Some(list)) => (list.parse().ok()?, None),
        (None, None) => (isolated.now.clone(), Some(&isolated.then)),
    };
    if off.within(and_then.unwrap_or(&already)) {
        return Some(text.into());
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let no_mask = by_mask.map(|_| format!("{MASK}=\n")).unwrap_or_default();
    Some(format!("{text}{gap}# {mark}\n{no_mask}{LIST}={}\n", already.with(off)))
}

/// The last value of a variable, as systemd reads such files.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut values = text.lines().filter_map(|line| line.trim().strip_prefix(name)?.trim_start().strip_prefix('='));
    values.next_back().map(|value| value.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    fn isolated(now: &str, then: &str) -> Isolated {
        Isolated { now: list(now), then: list(then) }
    }

    #[test]
    fn the_line_holds_what_was_kept_off_before() {
        let with = |text: &str| with(text, &list("3"), &isolated("1,3", ""), "ontick").unwrap();
        let packaged = "#IRQBALANCE_BANNED_CPULIST=\n\nIRQBALANCE_ARGS=\"\"\n";
        assert_eq!(with(packaged), format!("{packaged}# ontick\nIRQBALANCE_BANNED_CPULIST=1,3\n"));
        assert_eq!(
            with("IRQBALANCE_BANNED_CPULIST='0'"),
            "IRQBALANCE_BANNED_CPULIST='0'\n# ontick\nIRQBALANCE_BANNED_CPULIST=0,3\n"
        );
        let by_mask = "IRQBALANCE_BANNED_CPUS=\"4\"\nIRQBALANCE_BANNED_CPULIST=0\n";
        let after = format!("{by_mask}# ontick\nIRQBALANCE_BANNED_CPUS=\nIRQBALANCE_BANNED_CPULIST=2-3\n");
        assert_eq!(with(by_mask), after);
        assert_eq!(with(&after), after, "once is enough");
        assert_eq!(with("IRQBALANCE_BANNED_CPULIST=0-7\n"), "IRQBALANCE_BANNED_CPULIST=0-7\n");
    }

    #[test]
    fn what_cannot_be_read_is_left() {
        for text in ["IRQBALANCE_BANNED_CPULIST=$CPUS\n", "IRQBALANCE_BANNED_CPUS=x\n"] {
            assert_eq!(with(text, &list("3"), &isolated("", ""), "ontick"), None, "{text}");
        }
    }

    #[test]
    fn cpus_that_will_be_isolated_need_no_line() {
        assert_eq!(with("# empty\n", &list("3"), &isolated("", "2-3"), "ontick").unwrap(), "# empty\n");
        assert!(with("# empty\n", &list("3"), &isolated("3", ""), "ontick").unwrap().ends_with("=3\n"));
    }
}
