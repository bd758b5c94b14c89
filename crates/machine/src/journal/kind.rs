//! The journals that there are.

/// Where the journal of `tune` lies.
pub const PATH: &str = "/var/lib/ontick/tune.jsonl";
/// Where a journal of `tune` goes that cannot be read in full.
pub const DAMAGED: &str = "/var/lib/ontick/tune.jsonl.damaged";

/// What a journal is about: each has its own way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalKind {
    /// Settings, undone by `tune revert`.
    Tune,
    /// An installed kernel, undone by `kernel rollback`.
    Kernel,
}

impl JournalKind {
    /// Where it lies.
    pub fn path(self) -> &'static str {
        match self {
            Self::Tune => PATH,
            Self::Kernel => "/var/lib/ontick/kernel.jsonl",
        }
    }

    /// Where it goes if it cannot be read in full.
    pub fn damaged(self) -> &'static str {
        match self {
            Self::Tune => DAMAGED,
            Self::Kernel => "/var/lib/ontick/kernel.jsonl.damaged",
        }
    }

    pub(super) fn format(self) -> &'static str {
        match self {
            Self::Tune => "ontick-tune/1",
            Self::Kernel => "ontick-kernel/1",
        }
    }
}
