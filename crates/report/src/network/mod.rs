//! A planned network, drawn: who has which link when.

mod bars;
mod load;
mod nodes;

use std::str::FromStr;

use ontick_tsn::network::Network;
use ontick_tsn::planning::Timetable;
use ontick_tsn::validate::Schedule;

use crate::plot::{gantt, topology};

pub use load::{loads, topology_svg};

/// What a picture of a plan has a row for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// A row for each link, with the messages on it.
    Links,
    /// A row for each stream, with its way from link to link.
    Streams,
    /// A card for each node: the gates of its ports, and what listeners get by when.
    Nodes,
}

/// Text that names no rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rows are \"{0}\": they must be links, streams or nodes")]
pub struct NoSuchRows(pub String);

impl FromStr for Rows {
    type Err = NoSuchRows;

    fn from_str(name: &str) -> Result<Self, NoSuchRows> {
        match name {
            "links" => Ok(Self::Links),
            "streams" => Ok(Self::Streams),
            "nodes" => Ok(Self::Nodes),
            other => Err(NoSuchRows(other.into())),
        }
    }
}

/// Draws a plan as an SVG document of its own, on white.
pub fn svg(rows: Rows, network: &Network, table: &Timetable, schedule: &Schedule) -> String {
    match rows {
        Rows::Nodes => topology(&nodes::picture(network, table, schedule)),
        Rows::Links => gantt(&bars::picture(true, network, table, schedule)),
        Rows::Streams => gantt(&bars::picture(false, network, table, schedule)),
    }
}
