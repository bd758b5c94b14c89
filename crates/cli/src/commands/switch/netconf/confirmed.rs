//! Commits that are undone unless they are confirmed in time (RFC 6241 section 8.4). A second ontick, which no end of the
//! session reaches, undoes them.

use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, SwitchDir, Unconfirmed};
use ontick_tsn::config;
use ontick_tsn::netconf::{RpcError, Tag};
use ontick_undo::guardian::{Word, wait};
use rustix::process::WaitOptions;

use super::super::target_flags::{StateFlag, lock, standing};
use super::super::{gates, guardian};
use super::change::Change;
use super::datastores::failed;
use crate::failure::{Failure, Outcome};

/// A confirmation is looked for so often.
const TURN: Duration = Duration::from_millis(100);
/// Gates that could not be restored are tried again so often.
const AGAIN: Duration = Duration::from_secs(1);

const NS_PER_S: u64 = 1_000_000_000;

/// A commit that is to be confirmed.
pub struct Made<'a> {
    pub folder: &'a SwitchDir,
    pub session: u32,
    /// So long there is time for it.
    pub seconds: u32,
    pub persist: Option<String>,
}

impl Made<'_> {
    /// Makes it, after an earlier one that is still to be confirmed. Whoever calls this holds the lock.
    pub fn commit(
        self,
        change: Option<Change>,
        earlier: Option<Unconfirmed>,
        state: &StateFlag,
    ) -> Result<(), RpcError> {
        let now_ns = ClockId::Monotonic.now_ns();
        let words = ["switch", "netconf", self.folder.name(), "--guard", &now_ns.to_string()];
        // It is there before anything changes.
        let guardian = guardian::start_as(&words, state).map_err(failed)?;
        let before = match &earlier {
            Some(earlier) => earlier.before.clone(),
            None => self.folder.configuration().map_err(failed)?,
        };
        let unconfirmed = Unconfirmed {
            guardian: now_ns,
            until_ns: now_ns + u64::from(self.seconds) * NS_PER_S,
            session: self.session,
            persist: self.persist.or(earlier.as_ref().and_then(|earlier| earlier.persist.clone())),
            before,
        };
        let made = self
            .folder
            .set_unconfirmed(&unconfirmed)
            .map_err(failed)
            .and_then(|()| change.map_or(Ok(()), |change| change.make(self.folder)));
        match (made, earlier) {
            (Ok(()), _) => {
                guardian.leave("made");
                Ok(())
            }
            // The earlier one's own guardian may have left it.
            (Err(error), Some(earlier)) => {
                self.folder.set_unconfirmed(&Unconfirmed { guardian: now_ns, ..earlier }).map_err(failed)?;
                guardian.leave("not made");
                Err(error)
            }
            (Err(error), None) => {
                self.folder.settle_unconfirmed();
                guardian.settle();
                Err(error)
            }
        }
    }
}

/// The commit that a session may confirm, follow or cancel; an error if another one is to be confirmed.
pub fn pending_of(folder: &SwitchDir, session: u32, id: Option<&str>) -> Result<Option<Unconfirmed>, RpcError> {
    let pending = folder.unconfirmed();
    match (&pending, id) {
        (None, None) => Ok(None),
        (Some(gates), Some(id)) if gates.persist.as_deref() == Some(id) => Ok(pending),
        (_, Some(id)) => {
            let why = format!("no commit with the <persist> \"{id}\" waits to be confirmed");
            Err(RpcError::protocol(Tag::InvalidValue, why).with("bad-element", "persist-id"))
        }
        (Some(gates), None) if gates.persist.is_none() && gates.session == session => Ok(pending),
        (Some(gates), None) => {
            let how = if gates.persist.is_some() { ", for which its <persist-id> is needed" } else { "" };
            let why = format!("a commit of session {} waits to be confirmed{how}", gates.session);
            Err(RpcError::protocol(Tag::InUse, why))
        }
    }
}

/// Sets the gates from before a commit that this session may cancel.
pub fn cancel(folder: &SwitchDir, session: u32, id: Option<&str>) -> Result<(), RpcError> {
    let none = || failed("no commit waits to be confirmed");
    let gates = pending_of(folder, session, id)?.ok_or_else(none)?;
    match restore(folder, gates.guardian).map_err(failed)? {
        true => Ok(()),
        false => Err(none()),
    }
}

/// What the guardian does.
pub fn guard(folder: &SwitchDir, number: u64) -> Result<Outcome, Failure> {
    let is_killed = match wait() {
        Word::Settled => return Ok(Outcome::Met),
        // In the midst of it.
        Word::Killed => true,
        Word::Left(_) => false,
    };
    while let Some(gates) = guarded(folder, number) {
        let is_due = is_killed || gates.is_due(folder, ClockId::Monotonic.now_ns());
        match is_due.then(|| restore(folder, number)) {
            None => std::thread::sleep(TURN),
            Some(Ok(_)) => break,
            Some(Err(_)) => std::thread::sleep(AGAIN),
        }
    }
    Ok(Outcome::Met)
}

/// Does what a guardian that was killed could not do.
pub fn restore_due(folder: &SwitchDir) -> Result<(), Failure> {
    let due = folder.unconfirmed().filter(|gates| gates.is_due(folder, ClockId::Monotonic.now_ns()));
    due.map_or(Ok(()), |gates| restore(folder, gates.guardian).map(drop))
}

/// Takes note of guardians that have ended. Between two requests a session has no other children.
pub fn reap_guardians() {
    while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {}
}

/// What waits to be confirmed, if this guardian sees to it.
fn guarded(folder: &SwitchDir, number: u64) -> Option<Unconfirmed> {
    folder.unconfirmed().filter(|gates| gates.guardian == number)
}

/// Sets the gates from before; whether anything waited to be confirmed.
fn restore(folder: &SwitchDir, number: u64) -> Result<bool, Failure> {
    let _lock = lock(folder)?;
    // It may have been confirmed while the lock was waited for, and the switch removed.
    let (Some(gates), Some(journal)) = (guarded(folder, number), Journal::read(folder)?) else { return Ok(false) };
    let before = config::read(&gates.before)?.switch;
    // Whoever was to change them may have been killed before that.
    if standing(folder)? != before {
        gates::apply(folder, &journal, &before, None)?;
    }
    folder.settle_unconfirmed();
    Ok(true)
}
