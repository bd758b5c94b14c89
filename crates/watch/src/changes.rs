//! What changed on the machine: findings, kernel and settings now against those that were last seen, also before a restart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ontick_machine::status::SettingState;
use ontick_machine::{Facts, Finding, Journal, Profile, Root, Severity, Target, TargetError, check, status};
use ontick_record::output_file;
use ontick_units::CpuList;
use serde::{Deserialize, Serialize};

use crate::events::{Event, Kind};

/// The machine as far as its timing depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// Kernel, command line, microcode and the like, by name.
    pub machine: BTreeMap<String, String>,
    /// Findings by name: how bad, and what was observed.
    pub findings: BTreeMap<String, (Severity, String)>,
    /// Settings that `tune` had changed and that are not as it left them, by path: what became of them.
    pub drifted: BTreeMap<String, String>,
}

impl Seen {
    /// Looks at the machine, for these CPUs.
    pub fn now(root: &Root, cpus: &CpuList) -> Result<Self, TargetError> {
        let facts = Facts::gather(root);
        let of = |cpus: CpuList| Target::new(&facts, Some(cpus), Profile::DedicatedCore);
        // Nobody dedicates all CPUs: what stands in the way of one is then looked at.
        let target = of(cpus.clone()).or_else(|error| cpus.last().map_or(Err(error), |last| of(CpuList::one(last))))?;
        let found = check(&facts, &target, &|remedy| remedy.to_string());
        Ok(Self {
            machine: machine(root, &facts, cpus),
            findings: noted(&found),
            drifted: Journal::read(root).map(|journal| drifted(root, &journal)).unwrap_or_default(),
        })
    }

    /// How many findings are so bad.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.values().filter(|(found, _)| *found == severity).count()
    }

    /// What is not as it was.
    pub fn since(&self, before: &Self, at: u32) -> Vec<Event> {
        let event = |kind, bad, text| Event { at, kind, bad, cpu: None, text };
        let mut events = Vec::new();
        for (name, (old, new)) in differing(&before.machine, &self.machine) {
            let text = match (old, new) {
                (Some(old), Some(new)) => format!("{name} is {new}; it was {old}"),
                (None, Some(new)) => format!("{name} is {new}; it was not known"),
                (Some(old), None) => format!("{name} is not known any more; it was {old}"),
                (None, None) => continue,
            };
            events.push(event(Kind::Machine, false, text));
        }
        for (name, (old, new)) in differing(&before.findings, &self.findings) {
            let severity = |found: Option<&(Severity, String)>| found.map_or(Severity::Ok, |(severity, _)| *severity);
            let (was, is) = (severity(old), severity(new));
            // Words that only say how something is well are no news.
            if was == Severity::Ok && is == Severity::Ok {
                continue;
            }
            let words = |found: Option<&(Severity, String)>| found.map_or("nothing".into(), |(_, words)| words.clone());
            let text = format!("{name}: {}; it was: {}", words(new), words(old));
            events.push(event(Kind::Finding, is < was || is == Severity::Bad, text));
        }
        for (path, (old, new)) in differing(&before.drifted, &self.drifted) {
            let text = match (old, new) {
                (_, Some(new)) => format!("{path}: {new}"),
                (_, None) => format!("{path} is as it was set again"),
            };
            events.push(event(Kind::Setting, new.is_some(), text));
        }
        events
    }

    /// What was last seen, out of a file; none where there is no such file, or no sound one.
    pub fn read(path: &Path) -> Option<Self> {
        std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    /// Keeps it for the next start.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        output_file::replace(path, &serde_json::to_vec(self)?)
    }
}

/// Where what was last seen is kept, in the folder of a state.
pub fn file_in(folder: &Path) -> PathBuf {
    folder.join("machine.json")
}

fn machine(root: &Root, facts: &Facts, cpus: &CpuList) -> BTreeMap<String, String> {
    let environment = facts.environment(cpus.last());
    let microcode = root.text("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("microcode"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let named = [
        ("the kernel", environment.kernel),
        ("the kernel's build", environment.kernel_build),
        ("the kernel's command line", environment.kernel_arguments),
        ("the preemption model", environment.preemption),
        ("the clock source", environment.clocksource),
        ("the microcode", microcode.unwrap_or_default()),
        ("the system", environment.system),
        ("the number of CPUs online", environment.cpus_online.to_string()),
    ];
    named.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name.into(), value)).collect()
}

/// Several findings of one name are one, as bad as the worst.
fn noted(found: &[Finding]) -> BTreeMap<String, (Severity, String)> {
    let mut all: BTreeMap<String, (Severity, String)> = BTreeMap::new();
    for finding in found {
        let words = without_figures(&finding.observed);
        let there = all.entry(finding.id.clone());
        there
            .and_modify(|(severity, observed)| {
                *severity = finding.severity.min(*severity);
                *observed = format!("{observed}; {words}");
            })
            .or_insert((finding.severity, words));
    }
    all
}

/// A text without the figures in it that change all the time: shares in per cent, and counts since something.
fn without_figures(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_figure = |n: usize| {
        words.get(n + 1).is_some_and(|next| next.starts_with('%') || *next == "since")
            && words[n].parse::<f64>().is_ok()
    };
    (0..words.len()).map(|n| if is_figure(n) { "…" } else { words[n] }).collect::<Vec<_>>().join(" ")
}

fn drifted(root: &Root, journal: &Journal) -> BTreeMap<String, String> {
    let all = status(root, journal).changes;
    let drifted = all.into_iter().filter_map(|change| {
        let became = match change.state {
            SettingState::AsSet => return None,
            SettingState::AsBefore => format!("is {} as before tuning, not {}", change.now, change.set),
            SettingState::ChangedByOthers => format!("is {}, not {} as tuned", change.now, change.set),
            SettingState::Gone => "is not there any more".into(),
        };
        Some((change.path, format!("{} ({})", became, change.knob)))
    });
    drifted.collect()
}

type Both<'a, T> = (Option<&'a T>, Option<&'a T>);

/// What is in only one of two, or not the same in both.
fn differing<'a, T: PartialEq>(
    before: &'a BTreeMap<String, T>,
    now: &'a BTreeMap<String, T>,
) -> BTreeMap<&'a str, Both<'a, T>> {
    let names = before.keys().chain(now.keys()).map(String::as_str);
    names.map(|name| (name, (before.get(name), now.get(name)))).filter(|(_, (old, new))| old != new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(findings: &[(&str, Severity, &str)]) -> Seen {
        let noted =
            |(id, severity, observed): &(&str, Severity, &str)| (id.to_string(), (*severity, observed.to_string()));
        Seen { findings: findings.iter().map(noted).collect(), ..Seen::default() }
    }

    #[test]
    fn a_finding_that_came_went_or_changed_is_news() {
        let before = seen(&[
            ("interrupts", Severity::Warn, "45 may be delivered to CPU 3"),
            ("swap", Severity::Bad, "on"),
            ("tick", Severity::Ok, "stopped"),
            ("smt", Severity::Bad, "shared"),
        ]);
        let now = seen(&[
            ("interrupts", Severity::Warn, "45 and 46 may be delivered to CPU 3"),
            ("swap", Severity::Ok, "none"),
            ("tick", Severity::Ok, "stops"),
            ("smt", Severity::Bad, "shared"),
        ]);
        let events = now.since(&before, 9);
        let texts: Vec<(&str, bool)> = events.iter().map(|event| (event.text.as_str(), event.bad)).collect();
        let interrupts = "interrupts: 45 and 46 may be delivered to CPU 3; it was: 45 may be delivered to CPU 3";
        assert_eq!(texts, [(interrupts, false), ("swap: none; it was: on", false)]);
        assert!(before.since(&now, 9)[1].bad && now.since(&now, 9).is_empty());
    }

    #[test]
    fn a_kernel_that_changed_over_a_restart_is_news() {
        let folder = tempfile::tempdir().unwrap();
        let path = file_in(folder.path());
        assert_eq!(Seen::read(&path), None);
        let of = |kernel: &str| Seen { machine: [("the kernel".into(), kernel.into())].into(), ..Seen::default() };
        of("6.1.0").write(&path).unwrap();
        let events = of("6.12.0").since(&Seen::read(&path).unwrap(), 1);
        assert_eq!(events[0].text, "the kernel is 6.12.0; it was 6.1.0");
    }

    #[test]
    fn figures_that_change_all_the_time_are_left_out() {
        assert_eq!(without_figures("KVM, 0.11 % stolen since boot"), "KVM, … % stolen since boot");
        assert_eq!(without_figures("45 % of 3 CPUs"), "… % of 3 CPUs");
        assert_eq!(without_figures("1207 since power-on"), "… since power-on");
    }

    #[test]
    fn this_machine_does_not_change_by_being_looked_at() {
        let cpus = CpuList::one(ontick_rt::cpus::preferred());
        let look = || Seen::now(&Root::live(), &cpus).unwrap();
        let (first, second) = (look(), look());
        assert!(first.findings.len() > 10 && first.machine.contains_key("the kernel"), "{first:?}");
        // Interrupts and loads of tests beside this one may come and go.
        let names = |seen: &Seen| seen.machine.clone();
        assert_eq!(names(&first), names(&second));
    }
}
