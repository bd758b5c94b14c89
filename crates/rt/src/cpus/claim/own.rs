//! What this process has claimed, until it lets go of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What this process has claimed.
pub(super) static OWN: Mutex<BTreeMap<PathBuf, Entry>> = Mutex::new(BTreeMap::new());

/// A file that is locked, and how many claims it is for.
pub(super) struct Entry {
    pub(super) claims: u32,
    pub(super) _locked: File,
}

/// A CPU is this process's as long as this is there. Claims of one process do not exclude each other.
#[derive(Debug)]
#[must_use = "the CPU is free again when the claim is dropped"]
pub struct Claim {
    /// Its file; none where there is no folder of claims, and nobody is hindered.
    place: Option<PathBuf>,
    /// A forked child has a copy, and no claim.
    process: u32,
}

impl Claim {
    pub(super) fn at(place: Option<PathBuf>) -> Self {
        Self { place, process: std::process::id() }
    }

    /// Until the process ends.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(place) = self.place.as_ref().filter(|_| self.process == std::process::id()) else { return };
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = own.get_mut(place) else { return };
        entry.claims -= 1;
        if entry.claims == 0 {
            // Whoever finds the file meanwhile finds it locked.
            let _ = fs::remove_file(place);
            own.remove(place);
        }
    }
}
