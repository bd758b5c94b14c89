//! What stays in the journal of a change that failed.

use std::fs;
use std::io;
use std::sync::Arc;

use super::*;
use crate::plan::State;
use crate::revert::revert;
use crate::root::irqbalance::MayCome;
use crate::root::{Act, Hook, IRQBALANCE, Verdict};

/// An irqbalance that is told something and neither does it nor says more.
struct Mute;

impl Hook for Mute {
    fn before(&self, act: &Act) -> Verdict {
        match act {
            Act::Set { value: "3", .. } => Verdict::Refuse(io::Error::other(MayCome(io::ErrorKind::TimedOut.into()))),
            _ => Verdict::Go,
        }
    }
}

#[test]
fn what_irqbalance_may_do_yet_stays_in_the_journal_until_it_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("irqbalance")).unwrap();
    let file = folder.path().join("irqbalance/banned-cpus");
    fs::write(&file, "none\n").unwrap();
    let root = Root::at(folder.path()).unwrap().with_hook(Arc::new(Mute));
    let item = Item {
        knob: "irqbalance",
        path: IRQBALANCE.into(),
        form: ValueFormat::List,
        current: "none".into(),
        wanted: "3".into(),
        state: State::Change,
        why: "",
        source: "",
    };
    let mut journal = Journal::open(&root).unwrap();
    let mut names = Names::of(&root, &journal);
    let change = change(&root, &item, &mut journal, &mut names).unwrap();
    assert!(matches!(&change.outcome, Outcome::Refused(why) if why.ends_with("may do so yet")), "{change:?}");
    let held = journal.entry(IRQBALANCE).unwrap();
    assert!(!held.done, "{held:?}");
    // It comes.
    fs::write(&file, "3\n").unwrap();
    assert!(revert(&root, &mut journal, false).complete());
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), journal.entries().count()), ("none\n", 0));
}
