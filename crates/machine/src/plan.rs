//! Every change that would be made, as current → wanted, with the reason. Making a plan changes nothing.

mod own;

use serde::Serialize;

use crate::facts::{Facts, Preemption};
use crate::knobs::interrupts::THREADS;
use crate::knobs::network::{INTERFACE, NAPI_THREADS};
use crate::knobs::{self, Knob, KnobFile, UnknownKnob, Want};
use crate::root::{self, Root, reason};
use crate::target::Target;
use crate::value_format::ValueFormat;

pub use own::OWN;

/// What `tune` would do.
#[derive(Debug, Clone, Serialize)]
pub struct TuningPlan {
    /// What the machine is wanted for.
    #[serde(rename = "aim")]
    pub target: Target,
    /// One item for each file that a knob names here, in the order of application; and one for each knob
    /// that names none.
    pub items: Vec<Item>,
    /// What a reader must know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One file of one knob.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// The knob; [`OWN`] for a setting of one's own.
    pub knob: &'static str,
    /// The file; the pattern where no file answers to it.
    pub path: String,
    /// How its values are written.
    pub form: ValueFormat,
    /// The value now; empty where it cannot be read.
    pub current: String,
    /// The value that is wanted; empty where nothing is.
    pub wanted: String,
    /// What is to be done.
    pub state: State,
    /// Why it matters.
    pub why: &'static str,
    /// Who says so.
    pub source: &'static str,
}

/// What is to be done about an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "reason")]
pub enum State {
    /// It will be changed.
    Change,
    /// It is as wanted.
    AsWanted,
    /// It is left alone, for this reason.
    Left(String),
    /// This machine does not have it.
    Absent(String),
    /// It is there but cannot be read.
    Unreadable(String),
    /// It is not to be set, for this reason.
    Refused(String),
    /// It would affect other programs' tasks and needs `--isolate`.
    NeedsIsolate,
}

impl TuningPlan {
    /// Plans the knobs of the profile, or those that the target names, and the settings of one's own.
    pub fn make(root: &Root, facts: &Facts, target: &Target) -> Result<Self, UnknownKnob> {
        for name in &target.only {
            knobs::named(name)?;
        }
        let asked = |knob: &&Knob| match target.only.is_empty() {
            true if target.only_arguments.is_some() => false,
            true if knob.name == THREADS => !target.irq_threads.is_empty(),
            true if knobs::is_of_interfaces(knob) && target.interfaces.is_empty() => false,
            true => knob.profiles.contains(&target.profile),
            false => target.only.iter().any(|name| name == knob.name),
        };
        let mut items: Vec<Item> =
            knobs::all().filter(asked).flat_map(|knob| items(root, facts, target, knob)).collect();
        for setting in &target.own {
            items.push(own::item(root, setting, &items));
        }
        let mut notes = Vec::new();
        let threaded = facts.kernel.preemption == Preemption::Rt || facts.arguments.get("threadirqs").is_some();
        if !target.irq_threads.is_empty() && !threaded {
            notes.push("only interrupts whose drivers ask for a thread have one here; the others are handled at once, above every thread (threadirqs on the kernel's command line gives all of them threads)".into());
        }
        Ok(Self { target: target.clone(), items, notes })
    }

    /// What can be changed only now that this plan was carried out: threads that appeared with a setting.
    pub fn appeared(&self, root: &Root, facts: &Facts) -> Self {
        let mut items = match Self::make(root, facts, &self.target) {
            Ok(now) => now.items,
            Err(_) => Vec::new(),
        };
        items.retain(|item| item.knob == NAPI_THREADS && self.items.iter().all(|before| before.path != item.path));
        Self { target: self.target.clone(), items, notes: Vec::new() }
    }

    /// The items that are neither as wanted nor will be.
    pub fn left(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|i| !matches!(i.state, State::Change | State::AsWanted))
    }

    /// The items that will be changed.
    pub fn changes(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|i| i.state == State::Change)
    }
}

fn items(root: &Root, facts: &Facts, target: &Target, knob: &'static Knob) -> Vec<Item> {
    let blank = |path: &str, state| Item {
        knob: knob.name,
        path: path.into(),
        form: knob.form,
        current: String::new(),
        wanted: String::new(),
        state,
        why: knob.why,
        source: knob.source,
    };
    let files = knob.files(root, target);
    if files.is_empty() {
        let named = target.interfaces.join(", ");
        let pattern = knob.paths[0].replace(INTERFACE, if named.is_empty() { INTERFACE } else { &named });
        return vec![blank(&pattern, State::Absent(absent(root, &pattern)))];
    }
    let item = |path: String| {
        let shown = match root.text(&path) {
            Ok(text) => text,
            Err(e) => return blank(&path, State::Unreadable(reason(&e))),
        };
        let shown = shown.trim();
        let current = knob.form.value(shown);
        let file = KnobFile { root, facts, path: &path, shown };
        let (wanted, state) = match (knob.want)(target, &file) {
            Want::Leave(why) => (String::new(), State::Left(why)),
            Want::Set(wanted) if knob.form.same(&wanted, shown) => (wanted, State::AsWanted),
            Want::Set(wanted) if knob.isolates && !target.isolate => (wanted, State::NeedsIsolate),
            Want::Set(wanted) => (wanted, State::Change),
        };
        Item { current, wanted, ..blank(&path, state) }
    };
    files.into_iter().map(item).collect()
}

/// Why no file answers to a pattern.
fn absent(root: &Root, pattern: &str) -> String {
    if pattern.starts_with("/sys/kernel/debug/") && !root.exists("/sys/kernel/debug/sched") {
        return "debugfs does not show the scheduler here (mount -t debugfs none /sys/kernel/debug, or a kernel that hides it)"
            .into();
    }
    if pattern.contains(INTERFACE) {
        return "no network interface is named".into();
    }
    if pattern.starts_with(root::ETHTOOL) {
        return "this interface does not have it".into();
    }
    if pattern.starts_with("thread:napi/") {
        return "there are none yet: they come with threaded-napi, and get their priority then".into();
    }
    if pattern == root::IRQBALANCE {
        return "irqbalance does not run here, or has no socket to be told by (/run/irqbalance)".into();
    }
    if pattern.starts_with(root::RESCTRL) {
        let systems = root.text("/proc/filesystems").unwrap_or_default();
        return match systems.split_whitespace().any(|name| name == "resctrl") {
            true => "resctrl is not mounted, or divides no cache (mount -t resctrl resctrl /sys/fs/resctrl)".into(),
            false => "this processor or its kernel divides no cache".into(),
        };
    }
    if pattern.starts_with(root::THREAD) {
        return "no interrupt has a thread".into();
    }
    "this machine does not have it".into()
}
