//! The picture of a plan, as a file.

use std::path::Path;

use clap::ValueEnum;
use ontick_record::store;
use ontick_report::network;
use ontick_tsn::network::Network;
use ontick_tsn::planning::Timetable;
use ontick_tsn::validate::Schedule;

use crate::failure::Failure;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Rows {
    /// A row for each link, with the messages on it
    Links,
    /// A row for each stream, with its way from link to link
    Streams,
    /// A card for each node: the gates of its ports, and what listeners get by when
    Nodes,
}

impl From<Rows> for network::Rows {
    fn from(rows: Rows) -> Self {
        match rows {
            Rows::Links => network::Rows::Links,
            Rows::Streams => network::Rows::Streams,
            Rows::Nodes => network::Rows::Nodes,
        }
    }
}

/// The form that a file's name asks for.
pub fn kind(file: &Path) -> Result<Kind, Failure> {
    match file.extension().and_then(|end| end.to_str()) {
        Some("svg") => Ok(Kind::Svg),
        Some("png") => Ok(Kind::Png),
        _ => Err(Failure::new(format!("--picture {}: end the name with .svg or .png", file.display()))),
    }
}

pub enum Kind {
    Svg,
    Png,
}

pub fn write(
    file: &Path,
    rows: Rows,
    network: &Network,
    table: &Timetable,
    schedule: &Schedule,
) -> Result<(), Failure> {
    let drawn = network::svg(rows.into(), network, table, schedule);
    match kind(file)? {
        Kind::Svg => store::write_whole(file, drawn.as_bytes())?,
        Kind::Png => store::write_whole(file, &ontick_report::png(&drawn, 2.0)?)?,
    }
    Ok(())
}
