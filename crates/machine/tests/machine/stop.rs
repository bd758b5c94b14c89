//! A process that is killed at one step that it makes through a [`Root`](ontick_machine::Root).

#[path = "../../../undo/tests/kill/mod.rs"]
mod kill;

use std::io;

use ontick_machine::root::{Act, Hook, Verdict};

#[allow(unused_imports, reason = "each test uses its own part")]
pub use kill::{Kill, Manner, Step, at_each_step};

impl Hook for Kill {
    fn before(&self, act: &Act) -> Verdict {
        let dead = || io::Error::other("stopped");
        match (self.step(), act) {
            (Step::Made | Step::Last(Manner::After), _) => Verdict::Go,
            // A kernel takes a value whole or not at all; a file on a disk may be cut anywhere.
            (Step::Last(Manner::Within), Act::Append { content, .. } | Act::Create { content, .. }) => {
                Verdict::Torn(content.len() / 2, dead())
            }
            _ => Verdict::Refuse(dead()),
        }
    }
}
