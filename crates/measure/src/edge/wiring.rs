//! Two lines, one of which follows the other.

use std::time::Duration;

use ontick_gpio::{Edges, Gone, Line, Name, OnExit, Request};
use ontick_record::run::Settings;
use ontick_rt::clock::ClockId;

use crate::Error;

/// How long a line may take to follow another before they count as not joined.
const FOLLOWS_WITHIN: Duration = Duration::from_millis(200);

/// A line that is driven, and one that follows it: by a simulated wire or by a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    /// The line that is driven.
    pub drive: Name,
    /// The line that is looked at.
    pub see: Name,
    /// What the driven line is left at.
    pub on_exit: OnExit,
}

impl Wiring {
    /// The driven line, low.
    pub(super) fn open_drive(&self) -> Result<Line, Error> {
        Ok(Line::open(&self.drive, &Request::output(false).on_exit(self.on_exit))?)
    }

    /// The line that is looked at.
    pub(super) fn open_see(&self, edges: Edges) -> Result<Line, Error> {
        Ok(Line::open(&self.see, &Request::input().edges(edges))?)
    }

    /// Checks that the one line follows the other, so that nobody waits for edges on a cable that is not there.
    pub(crate) fn try_out(&self) -> Result<(), Error> {
        named_once(&[&self.drive, &self.see])?;
        let mut drive = self.open_drive()?;
        let mut see = self.open_see(Edges::None)?;
        for level in [false, true, false] {
            drive.write(level).map_err(|gone| Error::Gone { line: self.drive.clone(), gone })?;
            let follows = follows(&mut see, level).map_err(|gone| Error::Gone { line: self.see.clone(), gone })?;
            if !follows {
                let remedy = match self.see {
                    Name::Sim { .. } => "join them with a simulated wire",
                    _ => "join them with a cable",
                };
                return Err(Error::Impossible(format!(
                    "line {} does not follow line {} ({remedy})",
                    self.see, self.drive
                )));
            }
        }
        Ok(())
    }

    /// Writes down which lines these are.
    pub(super) fn describe(&self, see: &Line, settings: &mut Settings) {
        settings.line = Some(self.drive.to_string());
        settings.watched_line = Some(self.see.to_string());
        settings.backend = Some(see.backend().to_string());
    }
}

/// A line that is driven shows its own level, which tells nothing of another.
pub(crate) fn named_once(lines: &[&Name]) -> Result<(), Error> {
    match (1..lines.len()).find(|n| lines[..*n].contains(&lines[*n])) {
        Some(n) => Err(Error::Impossible(format!("line {} is named twice: each end needs one of its own", lines[n]))),
        None => Ok(()),
    }
}

fn follows(line: &mut Line, level: bool) -> Result<bool, Gone> {
    let end_ns = ClockId::Monotonic.now_ns() + FOLLOWS_WITHIN.as_nanos() as u64;
    loop {
        if line.read()? == level {
            return Ok(true);
        }
        if ClockId::Monotonic.now_ns() > end_ns {
            return Ok(false);
        }
    }
}
