//! One session: what each request does.

use ontick_switch::apply::{Configuration, ConfigurationLock, Held, Session as Presence, StartupFile, SwitchDir};
use ontick_tsn::config;
use ontick_tsn::netconf::{
    Commit, Datastore, Edit, Operation, Reply, Request, RpcError, Source, Tag, TestOption, data_xml, edited, selected,
};
use serde_json::{Value, json};

use super::super::target_flags::{StateFlag, lock, refuse_short_windows};
use super::change::{self, Change};
use super::confirmed;
use super::datastores::{self, failed};

/// What follows a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Message,
    End,
}

pub struct Session {
    folder: SwitchDir,
    startup: StartupFile,
    presence: Presence,
    /// What this session has changed and not committed; no other session sees it.
    candidate: Option<Candidate>,
    is_candidate_locked: bool,
    running_lock: Option<ConfigurationLock>,
    startup_lock: Option<ConfigurationLock>,
    state: StateFlag,
}

#[derive(Clone)]
struct Candidate {
    /// What was running when it was begun.
    base: Value,
    data: Value,
}

type Answer = Result<Reply, RpcError>;

impl Session {
    pub fn new(folder: SwitchDir, startup: StartupFile, presence: Presence, state: StateFlag) -> Self {
        Self {
            folder,
            startup,
            presence,
            candidate: None,
            is_candidate_locked: false,
            running_lock: None,
            startup_lock: None,
            state,
        }
    }

    /// Does what is asked.
    pub fn answer(&mut self, request: Result<Request, RpcError>) -> (Answer, Next) {
        let request = match request {
            Ok(Request::CloseSession) => return (Ok(Reply::Ok), Next::End),
            Ok(request) => request,
            Err(error) => return (Err(error), Next::Message),
        };
        confirmed::reap_guardians();
        // Its guardian may have been killed, and then tries no more; else it tries again.
        let _ = confirmed::restore_due(&self.folder);
        (self.done(request), Next::Message)
    }

    fn done(&mut self, request: Request) -> Answer {
        let of = |data: Value, filter| match filter {
            Some(filter) => Ok(Reply::Data(data_xml(&selected(&data, filter)))),
            None => Ok(Reply::Data(data_xml(&data))),
        };
        match request {
            Request::Get { filter } => of(datastores::with_state(&self.folder)?, filter),
            Request::GetConfig { source, filter } => of(self.data(source)?, filter),
            Request::EditConfig(edit) => self.edit(&edit),
            Request::CopyConfig { target: Datastore::Startup, source } => self.keep(source),
            // What is running is what the candidate begins with.
            Request::CopyConfig { source: Source::Datastore(Datastore::Running), .. } => {
                self.candidate = Some(self.begun()?);
                Ok(Reply::Ok)
            }
            Request::CopyConfig { source, .. } => {
                let data = self.source(source)?;
                let Candidate { base, .. } = self.candidate()?;
                self.candidate = Some(Candidate { base, data });
                Ok(Reply::Ok)
            }
            Request::DeleteConfig => self.delete(),
            Request::Validate { source: Source::Datastore(Datastore::Startup) } => self.validate_startup(),
            Request::Validate { source } => {
                let data = self.source(source)?;
                change::checked(&self.folder, &data).map(|_| Reply::Ok)
            }
            Request::DiscardChanges => {
                self.candidate = None;
                Ok(Reply::Ok)
            }
            Request::Commit(commit) => self.commit(&commit),
            Request::CancelCommit { persist_id } => {
                let _running = self.unless_locked(Configuration::Running)?;
                confirmed::cancel(&self.folder, self.presence.id(), persist_id.as_deref()).map(|()| Reply::Ok)
            }
            Request::Lock(datastore) => self.lock(datastore),
            Request::Unlock(datastore) => self.unlock(datastore),
            Request::KillSession(id) if id == self.presence.id() => {
                Err(RpcError::protocol(Tag::InvalidValue, "this is the session itself: <close-session> ends it"))
            }
            Request::KillSession(id) => match self.presence.kill(&self.folder, id) {
                true => Ok(Reply::Ok),
                false => Err(RpcError::protocol(Tag::InvalidValue, format!("there is no session {id}"))),
            },
            Request::CloseSession => Ok(Reply::Ok),
        }
    }

    fn data(&self, datastore: Datastore) -> Result<Value, RpcError> {
        match (datastore, &self.candidate) {
            (Datastore::Candidate, Some(candidate)) => Ok(candidate.data.clone()),
            (Datastore::Candidate | Datastore::Running, _) => datastores::running(&self.folder),
            (Datastore::Startup, _) => match datastores::startup(&self.startup, &self.folder)? {
                Some(switch) => datastores::document(&switch),
                None => Ok(json!({})),
            },
        }
    }

    fn source(&self, source: Source) -> Result<Value, RpcError> {
        match source {
            Source::Datastore(datastore) => self.data(datastore),
            Source::Config(config) => edited(&Value::Null, config, Operation::Merge),
        }
    }

    /// The candidate, or one that is begun; of one look, so that nothing can change between its base and its data.
    fn candidate(&self) -> Result<Candidate, RpcError> {
        self.candidate.clone().map_or_else(|| self.begun(), Ok)
    }

    fn begun(&self) -> Result<Candidate, RpcError> {
        let running = datastores::running(&self.folder)?;
        Ok(Candidate { base: running.clone(), data: running })
    }

    fn edit(&mut self, edit: &Edit) -> Answer {
        let Candidate { base, data } = self.candidate()?;
        let data = edited(&data, edit.config, edit.default)?;
        if edit.test != TestOption::Set {
            change::checked(&self.folder, &data)?;
        }
        match edit.test {
            TestOption::TestOnly => Ok(Reply::Ok),
            TestOption::TestThenSet | TestOption::Set => {
                self.candidate = Some(Candidate { base, data });
                Ok(Reply::Ok)
            }
        }
    }

    /// Writes what the switch is to be from the next boot on.
    fn keep(&self, source: Source) -> Answer {
        let _startup = self.unless_locked(Configuration::Startup)?;
        let _lock = lock(&self.folder).map_err(failed)?;
        if let Some(gates) = self.folder.unconfirmed() {
            let why =
                format!("a commit of session {} waits to be confirmed: confirm or cancel it first", gates.session);
            return Err(RpcError::protocol(Tag::InUse, why));
        }
        let switch = match change::checked(&self.folder, &self.source(source)?)? {
            Some(switch) => switch,
            None => datastores::switch(&self.folder)?.1,
        };
        self.startup.write(&config::write(&switch)).map_err(failed)?;
        Ok(Reply::Ok)
    }

    fn delete(&self) -> Answer {
        let _startup = self.unless_locked(Configuration::Startup)?;
        match self.startup.remove().map_err(failed)? {
            true => Ok(Reply::Ok),
            false => Err(self.no_startup()),
        }
    }

    fn validate_startup(&self) -> Answer {
        let switch = datastores::startup(&self.startup, &self.folder)?.ok_or_else(|| self.no_startup())?;
        refuse_short_windows(&switch, None).map_err(failed)?;
        Ok(Reply::Ok)
    }

    fn no_startup(&self) -> RpcError {
        let why = format!("there is no {}: nothing is set up at the next boot", self.startup.path().display());
        RpcError::protocol(Tag::DataMissing, why)
    }

    /// Another session's lock keeps this one off. Where it has no lock of its own, this is held while it works.
    fn unless_locked(&self, which: Configuration) -> Result<Option<ConfigurationLock>, RpcError> {
        let (own, name) = match which {
            Configuration::Running => (&self.running_lock, "running"),
            Configuration::Startup => (&self.startup_lock, "startup"),
        };
        if own.is_some() {
            return Ok(None);
        }
        let in_use = |held: Held| RpcError::protocol(Tag::InUse, format!("session {} has locked {name}", held.session));
        self.folder.lock_configuration(which, &self.presence).map_err(failed)?.map(Some).map_err(in_use)
    }

    fn commit(&mut self, commit: &Commit) -> Answer {
        let _running = self.unless_locked(Configuration::Running)?;
        let _lock = lock(&self.folder).map_err(failed)?;
        let pending = confirmed::pending_of(&self.folder, self.presence.id(), commit.persist_id.as_deref())?;
        let change = match &self.candidate {
            Some(candidate) => Change::of(&self.folder, &candidate.base, &candidate.data)?,
            None => None,
        };
        match commit.confirmed_s {
            None => {
                change.map_or(Ok(()), |change| change.make(&self.folder))?;
                self.folder.settle_unconfirmed();
            }
            Some(seconds) => {
                let made = confirmed::Made {
                    folder: &self.folder,
                    session: self.presence.id(),
                    seconds,
                    persist: commit.persist.clone(),
                };
                made.commit(change, pending, &self.state)?;
            }
        }
        self.candidate = None;
        Ok(Reply::Ok)
    }

    fn lock(&mut self, datastore: Datastore) -> Answer {
        let denied = |session: u32, why: String| {
            RpcError::protocol(Tag::LockDenied, why).with("session-id", session.to_string())
        };
        let own = || denied(self.presence.id(), "this session has the lock already".into());
        let taken = |which| {
            let lock = self.folder.lock_configuration(which, &self.presence).map_err(failed)?;
            lock.map_err(|held| denied(held.session, format!("session {} has the lock", held.session)))
        };
        match datastore {
            Datastore::Running if self.running_lock.is_some() => Err(own()),
            Datastore::Running => {
                // With the lock no other commit comes before the look (RFC 6241 section 7.5).
                let lock = taken(Configuration::Running)?;
                if let Some(other) = self.folder.unconfirmed().filter(|gates| gates.session != self.presence.id()) {
                    let why = format!("a commit of session {} waits to be confirmed", other.session);
                    return Err(denied(other.session, why));
                }
                self.running_lock = Some(lock);
                Ok(Reply::Ok)
            }
            Datastore::Startup if self.startup_lock.is_some() => Err(own()),
            Datastore::Startup => {
                self.startup_lock = Some(taken(Configuration::Startup)?);
                Ok(Reply::Ok)
            }
            Datastore::Candidate if self.is_candidate_locked => Err(own()),
            // RFC 6241 section 8.3.5.2: not while there are changes in it.
            Datastore::Candidate if self.candidate.is_some() => {
                let why = "candidate has changes that are not committed: <commit> or <discard-changes> first";
                Err(denied(0, why.into()))
            }
            Datastore::Candidate => {
                self.is_candidate_locked = true;
                Ok(Reply::Ok)
            }
        }
    }

    fn unlock(&mut self, datastore: Datastore) -> Answer {
        let had = match datastore {
            Datastore::Running => self.running_lock.take().is_some(),
            Datastore::Startup => self.startup_lock.take().is_some(),
            Datastore::Candidate => {
                let had = std::mem::take(&mut self.is_candidate_locked);
                // RFC 6241 section 8.3.5.2: changes go with the lock.
                if had {
                    self.candidate = None;
                }
                had
            }
        };
        match had {
            true => Ok(Reply::Ok),
            false => Err(RpcError::protocol(Tag::OperationFailed, "this session does not have the lock")),
        }
    }
}
