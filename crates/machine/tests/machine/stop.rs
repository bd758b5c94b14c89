//! A program that ends at any one step of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ontick_machine::root::{Act, Hook, Verdict};

/// Ends everything at one step: before it, in the middle of it, or right after it.
pub struct Stop {
    at: usize,
    manner: Manner,
    pub seen: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Manner {
    Before,
    Within,
    After,
}

impl Stop {
    pub fn new(at: usize, manner: Manner) -> Arc<Self> {
        Arc::new(Self { at, manner, seen: AtomicUsize::new(0) })
    }
}

impl Hook for Stop {
    fn before(&self, act: &Act) -> Verdict {
        let step = self.seen.fetch_add(1, Ordering::Relaxed);
        let dead = || io::Error::other("stopped");
        match (step.cmp(&self.at), self.manner, act) {
            (std::cmp::Ordering::Less, ..) => Verdict::Go,
            (std::cmp::Ordering::Equal, Manner::After, _) => Verdict::Go,
            // A kernel takes a value whole or not at all; a file on a disk may be cut anywhere.
            (std::cmp::Ordering::Equal, Manner::Within, Act::Append { content, .. } | Act::Create { content, .. }) => {
                Verdict::Torn(content.len() / 2, dead())
            }
            _ => Verdict::Refuse(dead()),
        }
    }
}
