//! How undoing one change went.

use serde::Serialize;

/// What became of a change that was to be undone.
///
/// ```
/// use ontick_undo::Undone;
/// assert!(Undone::Gone.settled());
/// assert!(!Undone::Refused("the file system is read-only".into()).settled());
/// let as_json = serde_json::to_string(&Undone::ChangedByOthers("42".into())).unwrap();
/// assert_eq!(as_json, r#"{"outcome":"changed_by_others","detail":"42"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
pub enum Undone {
    /// It is as it was.
    Restored,
    /// What ontick wrote is out; what somebody else wrote since into the same file stays.
    TakenOut,
    /// It was as it had been already.
    AlreadyAsBefore,
    /// The device, interface or task is gone, and its setting with it.
    Gone,
    /// Somebody else changed it since, to this. It is left and stays in the journal, until it is forced.
    ChangedByOthers(String),
    /// Somebody else replaced it since, which says that they want it so. Nothing is left to undo.
    Superseded(String),
    /// It could not be restored, for this reason. It stays in the journal.
    Refused(String),
}

impl Undone {
    /// Whether nothing is left to do.
    pub fn settled(&self) -> bool {
        !matches!(self, Self::ChangedByOthers(_) | Self::Refused(_))
    }
}
