//! Which switch a command is about, and who is to do its work.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use ontick_record::{Finding, Severity};
use ontick_switch::apply::{ApplyError, Lock, Plan, SwitchDir, SwitchDirError};
use ontick_switch::user::loop_probe;
use ontick_switch::user::station::served;
use ontick_switch::{apply, check, ethtool, kernel, link, loops, user};
use ontick_tsn::model::{Plane, Role};
use ontick_tsn::{config, model::Switch};

use super::file;
use super::measured::Measured;
use crate::failure::Failure;

/// Another ontick that is changing a switch takes no longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who is to do the work.
#[derive(Clone, Copy, ValueEnum)]
pub enum PlaneFlag {
    /// The kernel where it can, else a dedicated core
    Auto,
    /// Bridge, classifier and taprio
    Kernel,
    /// A dedicated core
    User,
}

impl From<PlaneFlag> for Plane {
    fn from(flag: PlaneFlag) -> Self {
        match flag {
            PlaneFlag::Auto => Plane::Auto,
            PlaneFlag::Kernel => Plane::Kernel,
            PlaneFlag::User => Plane::User,
        }
    }
}

/// The file, and the plane if it is to be another than the file says.
#[derive(Args)]
pub struct FileFlags {
    /// The file that describes the switch
    pub file: PathBuf,
    /// The data plane, overriding the file
    #[arg(long, value_enum)]
    pub plane: Option<PlaneFlag>,
    #[command(flatten)]
    pub state: StateFlag,
}

impl FileFlags {
    /// What is wanted.
    pub fn read(&self) -> Result<Switch, Failure> {
        let mut switch = file::read(&self.file)?;
        if let Some(plane) = self.plane {
            switch.plane = plane.into();
        }
        Ok(switch)
    }
}

/// Where what is known of standing switches lies; tests have a place of their own.
#[derive(Args, Clone)]
pub struct StateFlag {
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub state: Option<PathBuf>,
}

impl StateFlag {
    /// The folder of a switch.
    pub fn folder(&self, name: &str) -> Result<SwitchDir, Failure> {
        Ok(SwitchDir::of(name, self.state.as_deref())?)
    }

    /// Refuses who may not see which switches there are: they belong to who set them up.
    pub fn check(&self) -> Result<(), Failure> {
        SwitchDir::readable(self.state.as_deref()).map_err(|error| {
            Failure::new(format!("the switches of this machine are another user's ({error}): run it with sudo"))
        })
    }

    /// As it is handed on to an ontick that this one starts.
    pub fn words(&self) -> Vec<String> {
        self.state.iter().flat_map(|folder| ["--state".into(), folder.display().to_string()]).collect()
    }
}

/// An applied switch, by its name.
#[derive(Args)]
pub struct NameFlags {
    /// Name of the switch; may be omitted if there is only one
    pub name: Option<String>,
    #[command(flatten)]
    pub state: StateFlag,
}

impl NameFlags {
    /// That there is nothing, and what there is instead: a name may be mistyped.
    pub fn none(&self) -> String {
        let names = SwitchDir::all(self.state.state.as_deref());
        match (&self.name, names.is_empty()) {
            (None, _) => "No switch is set up here.\n".into(),
            (Some(name), true) => format!("No switch {name} is set up here.\n"),
            (Some(name), false) => format!("No switch {name} is set up here (there is {}).\n", names.join(", ")),
        }
    }

    /// The folder of the switch that is meant; none if no switch is applied.
    pub fn folder(&self) -> Result<Option<SwitchDir>, Failure> {
        if let Some(name) = &self.name {
            return self.state.folder(name).map(Some);
        }
        let names = SwitchDir::all(self.state.state.as_deref());
        match names.as_slice() {
            [] => Ok(None),
            [name] => self.state.folder(name).map(Some),
            _ => Err(Failure::new(format!("several switches are set up ({}): name one", names.join(", ")))),
        }
    }
}

/// Waits for another ontick that is changing a switch.
pub fn lock(folder: &SwitchDir) -> Result<Lock, Failure> {
    let began = Instant::now();
    loop {
        match folder.lock() {
            Err(SwitchDirError::Busy(_)) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            other => return Ok(other?),
        }
    }
}

/// Why a switch could not be set up, and the command that helps.
pub fn not_applied(error: ApplyError) -> Failure {
    let help = match &error {
        ApplyError::Exists(name) => {
            format!(": `ontick switch status {name}` shows it, `ontick switch revert {name}` takes it away")
        }
        ApplyError::PortTaken { switch, .. } => format!(": sudo ontick switch revert {switch}"),
        ApplyError::Stuck { name, .. } => format!(": `ontick switch revert {name}` tries again"),
        _ => String::new(),
    };
    Failure::new(format!("{error}{help}"))
}

/// What is to be done, and by whom: the switch that is returned has its data plane decided.
pub fn plan(mut switch: Switch, measured: Option<&Measured>) -> Result<(Switch, Plan), Failure> {
    refuse_short_windows(&switch, measured)?;
    let kernel = |switch: &Switch| kernel::plan(&apply::Live, switch, ontick_switch::clock::now_ns(switch.clock));
    let user = |switch: &Switch| user::plan::plan(&apply::Live, switch);
    let (plane, mut plan) = match switch.plane {
        Plane::Kernel => (Plane::Kernel, kernel(&switch)?),
        Plane::User => (Plane::User, user(&switch)?),
        Plane::Auto => match kernel(&switch) {
            Ok(plan) => (Plane::Kernel, plan),
            Err(cannot) => {
                let mut plan = user(&switch).map_err(|either| match cannot.to_string() == either.to_string() {
                    true => Failure::new(either),
                    false => {
                        Failure::new(format!("the kernel cannot do it: {cannot}; nor can a dedicated core: {either}"))
                    }
                })?;
                plan.notes.insert(0, format!("a dedicated core does it, as the kernel cannot: {cannot}"));
                (Plane::User, plan)
            }
        },
    };
    switch.plane = plane;
    plan.notes.extend(refuse_short_windows(&switch, measured)?);
    Ok((served(switch), plan))
}

/// A class whose gate is never open for as long as the data plane needs would lose every frame. What comes back are
/// windows that lose or delay some, where it is known by measurement.
pub fn refuse_short_windows(switch: &Switch, measured: Option<&Measured>) -> Result<Vec<String>, Failure> {
    if let Some(other) = measured.filter(|measured| !check::is_of(switch, measured.calibration.plane)) {
        return Err(other.is_of_another(&format!("nothing of switch {} is carried by one", switch.name)));
    }
    let calibration = measured.map(|measured| &measured.calibration);
    let found = check::windows(switch, switch.plane, |port| ethtool::rate(&port.name), calibration);
    let in_words =
        |short: &Finding| format!("{}: {}, and it needs {}; {}", short.id, short.observed, short.should, short.why);
    match found.iter().find(|finding| finding.severity == Severity::Bad) {
        Some(short) => Err(Failure::new(in_words(short))),
        None if measured.is_none() => Ok(Vec::new()),
        None => Ok(found.iter().map(in_words).collect()),
    }
}

/// A bridge without the spanning tree protocol must not be given a loop. (The user data plane looks for itself.) A loop
/// through a port that does not flood carries only what has an entry.
pub fn refuse_loops(switch: &Switch) -> Result<(), Failure> {
    if switch.plane == Plane::User || switch.role == Role::Station || switch.stp.is_on() {
        return Ok(());
    }
    let floods = |place: &usize| switch.forwarding.flood.as_ref().is_none_or(|flood| flood.contains(place));
    let ports: Vec<&str> = (0..switch.ports.len()).filter(floods).map(|at| switch.ports[at].name.as_str()).collect();
    let watch = link::Watch::begin()?;
    let links: Vec<link::Link> = watch.links().cloned().collect();
    let known = loops::known(&links, &ports, Some(&switch.name)).into_iter().next();
    let found = match known {
        Some(found) => Some(found),
        None => loop_probe::probe(&ports, loop_probe::LISTEN)?.loops.into_iter().next(),
    };
    match found {
        Some(found) => Err(Failure::new(format!("{found}; or let the bridge find its way around loops (stp = true)"))),
        None => Ok(()),
    }
}

/// Whether an applied switch is the one that is wanted; which data plane it has may have been left open.
pub fn is_wanted(standing: &Switch, wanted: &Switch) -> bool {
    let plane = if wanted.plane == Plane::Auto { standing.plane } else { wanted.plane };
    *standing == served(Switch { plane, ..wanted.clone() })
}

/// The applied switch, as it was set up.
pub fn standing(folder: &SwitchDir) -> Result<Switch, Failure> {
    let text = folder.configuration()?;
    Ok(config::read(&text)?.switch)
}

/// Switches of the user data plane whose process was killed, and its guardian with it.
pub fn abandoned() -> Vec<String> {
    let folders = SwitchDir::all(None).into_iter().filter_map(|name| SwitchDir::of(&name, None).ok());
    let abandoned = |folder: &SwitchDir| {
        let works = standing(folder).is_ok_and(|switch| switch.plane != Plane::User) || folder.is_watched();
        !works && matches!(apply::Journal::read(folder), Ok(Some(_)))
    };
    folders.filter(abandoned).map(|folder| folder.name().to_owned()).collect()
}
