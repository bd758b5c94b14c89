//! Gates that are set for a time: unless somebody confirms them, those before come back.

use std::fs;

use serde::{Deserialize, Serialize};

use super::{SwitchDir, SwitchDirError};

const UNCONFIRMED: &str = "unconfirmed.json";

/// What comes back, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// The number of the guardian that sees to it.
    pub guardian: u64,
    /// Until when they are to be confirmed, in ns of the monotonic clock.
    pub until_ns: u64,
    /// The session that set them.
    pub session: u32,
    /// A name by which any session can confirm them. With one, they outlast their session.
    pub persist: Option<String>,
    /// The configuration that comes back.
    pub before: String,
}

impl Unconfirmed {
    /// Whether what was before is to come back now.
    pub fn is_due(&self, folder: &SwitchDir, now_ns: u64) -> bool {
        now_ns >= self.until_ns || self.persist.is_none() && !folder.has_session(self.session)
    }
}

impl SwitchDir {
    /// Says that the gates which are set next are to be confirmed.
    pub fn set_unconfirmed(&self, gates: &Unconfirmed) -> Result<(), SwitchDirError> {
        self.replace(UNCONFIRMED, &serde_json::to_string(gates).expect("it is always representable as JSON"))
    }

    /// What waits to be confirmed; none if the gates stay.
    pub fn unconfirmed(&self) -> Option<Unconfirmed> {
        serde_json::from_str(&fs::read_to_string(self.path(UNCONFIRMED)).ok()?).ok()
    }

    /// The gates stay as they are.
    pub fn settle_unconfirmed(&self) {
        // Most are not to be confirmed.
        let _ = fs::remove_file(self.path(UNCONFIRMED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::Session;

    #[test]
    fn gates_go_with_their_time_and_with_their_session() {
        let home = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(home.path())).unwrap();
        folder.make().unwrap();
        let session = Session::begin(&folder, &folder.lock().unwrap()).unwrap();
        let gates =
            Unconfirmed { guardian: 1, until_ns: 1000, session: session.id(), persist: None, before: "a = 1\n".into() };
        assert_eq!(folder.unconfirmed(), None);
        folder.set_unconfirmed(&gates).unwrap();
        assert_eq!(folder.unconfirmed().as_ref(), Some(&gates));
        let named = Unconfirmed { persist: Some("x".into()), ..gates.clone() };
        assert_eq!([999, 1000].map(|now_ns| gates.is_due(&folder, now_ns)), [false, true]);
        drop(session);
        assert!(gates.is_due(&folder, 0), "its session has ended");
        assert_eq!([999, 1000].map(|now_ns| named.is_due(&folder, now_ns)), [false, true]);
        folder.settle_unconfirmed();
        assert_eq!(folder.unconfirmed(), None);
    }
}
