//! `ontick switch import`

use std::path::PathBuf;

use clap::Args;
use ontick_record::store;
use ontick_rt::clock::ClockId;
use ontick_tsn::{config, yang};

use super::file;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Make a switch from the gate parameters and streams of a network manager (YANG of IEEE 802.1Qcw in JSON).
///
/// Classes are called tc0 to tc7 by their number. In an existing file, gates, frame sizes and idle slopes are replaced
/// port by port, the streams by those of the document, and everything else stays.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick switch import gates.json > cell4.toml\n  ontick switch import gates.json --into cell4.toml --to new.toml"
)]
pub struct Import {
    /// File that the manager wrote
    document: PathBuf,
    /// Put the gates and streams into this switch
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Name of a new switch
    #[arg(long, default_value = "switch0", conflicts_with = "into")]
    name: String,
    /// Write the switch to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

impl Import {
    pub fn run(self) -> Result<Outcome, Failure> {
        let document = self.document.display().to_string();
        let mut imported = yang::import(&store::read_text(&self.document)?)
            .map_err(|error| Failure::new(format!("{document}: {error}")))?;
        let switch = match &self.into {
            Some(into) => {
                let mut switch = file::read(into)?;
                yang::merge(&mut switch, &mut imported).map_err(|error| {
                    Failure::new(format!("{document} does not fit {}: {}: {error}", into.display(), error.path()))
                })?;
                switch
            }
            None => yang::new_switch(&self.name, &mut imported),
        };
        imported.otherwise.iter().for_each(|otherwise| file::note(&otherwise.to_string()));
        imported.notes.iter().for_each(|note| file::note(note));
        // What a file must not say, a document may.
        let now_ns = ClockId::Realtime.now_ns();
        config::check_at(&switch, now_ns).map_err(|fault| {
            let (path, others) = (yang::place(&fault.part, &switch, &imported), fault.others);
            let more = if others > 0 { format!(" ({others} more of its values cannot be so)") } else { String::new() };
            Failure::new(format!("{document} makes no switch: {path}: {fault}{more}"))
        })?;
        let text = config::write(&switch);
        let parsed = config::read_at(&text, now_ns).map_err(Failure::new)?;
        let name = self.to.as_ref().map_or("output".into(), |path| path.display().to_string());
        file::warn(&parsed.warnings, &name);
        match &self.to {
            Some(path) => store::write_whole(path, text.as_bytes())?,
            None => terminal::print(&text)?,
        }
        Ok(Outcome::Met)
    }
}
