//! "Do we really own the core?", as text.

use ontick_machine::ownership::{InterruptActivity, Movable, Ownership, TaskRuntime, TimeSpent};
use ontick_report::Style;
use ontick_report::text::{Entry, Mark, labelled, list};
use ontick_units::show;

/// Of each kind so many are shown unless all are asked for.
const FEW: usize = 8;

pub fn render(own: &Ownership, all: bool, style: &Style) -> String {
    let few = |count: usize| if all { count } else { count.min(FEW) };
    let head = format!("CPU {} in {}: {}", own.cpu, show(own.watched_ns), time(&own.time));
    let mut text = labelled("", &head, style) + "\n";
    let mut entries: Vec<Entry> = own.ran.iter().take(few(own.ran.len())).map(ran).collect();
    entries.extend(more("ran", own.ran.len(), few(own.ran.len())));
    for (word, delivered) in [("irq", &own.interrupts), ("softirq", &own.softirqs)] {
        let shown = few(delivered.len());
        entries.extend(delivered.iter().take(shown).map(|s| interrupt_entry(word, s, own.watched_ns)));
        entries.extend(more(word, delivered.len(), shown));
    }
    entries.extend(own.may.iter().map(|may| {
        let shown = few(may.tasks.len());
        let rest = may.tasks.len() - shown;
        let rest = if rest > 0 { format!(" and {rest} more (--all)") } else { String::new() };
        Entry {
            mark: if may.movable == Movable::Bound { Mark::Plain } else { Mark::Look },
            word: "may".into(),
            name: format!("{} tasks", may.tasks.len()),
            said: format!("{}{rest}", may.tasks[..shown].join(", ")),
            below: vec![("", may.remedy.into())],
        }
    }));
    text.push_str(&list(&entries, style));
    text
}

/// `user 12 %, kernel 3 %, interrupts 0 %, idle 85 %, taken by the hypervisor 0 %`.
fn time(spent: &TimeSpent) -> String {
    let parts = [
        ("programs", spent.user_ns),
        ("kernel", spent.system_ns),
        ("interrupts", spent.interrupt_ns),
        ("idle", spent.idle_ns),
        ("taken by the hypervisor", spent.steal_ns),
    ];
    let sum: u64 = parts.iter().map(|(_, ns)| ns).sum();
    if sum == 0 {
        return "nothing was watched".into();
    }
    let share = |(name, ns): &(&str, u64)| format!("{name} {:.0} %", *ns as f64 * 100.0 / sum as f64);
    parts.iter().filter(|(_, ns)| *ns > 0).map(share).collect::<Vec<_>>().join(", ")
}

fn ran(ran: &TaskRuntime) -> Entry {
    let most = if ran.shared { "up to " } else { "" };
    let who = match (ran.kernel, ran.movable) {
        (false, _) => "",
        (true, Movable::Bound) => ", kernel thread of this CPU",
        (true, _) => ", kernel thread",
    };
    Entry {
        mark: if ran.movable == Movable::Bound { Mark::Plain } else { Mark::Look },
        word: "ran".into(),
        name: format!("{} {}", ran.name, ran.task),
        said: format!("{most}{}, {}{who}", show(ran.ran_ns), ran.policy),
        below: Vec::new(),
    }
}

fn interrupt_entry(word: &str, delivered: &InterruptActivity, watched_ns: u64) -> Entry {
    let each_second = delivered.count as f64 * 1e9 / watched_ns.max(1) as f64;
    Entry {
        mark: Mark::Plain,
        word: word.into(),
        name: delivered.label.clone(),
        said: format!("{each_second:.0} a second {}", delivered.about).trim_end().into(),
        below: vec![("", delivered.remedy.clone())],
    }
}

fn more(word: &str, all: usize, shown: usize) -> Option<Entry> {
    let said = format!("and {} more (--all)", all - shown);
    (all > shown).then(|| Entry { word: word.into(), said, ..Entry::default() })
}
