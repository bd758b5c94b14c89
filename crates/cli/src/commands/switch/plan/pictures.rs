//! Who has which link when, drawn.

use std::path::Path;

use clap::ValueEnum;
use ontick_record::store;
use ontick_report::plot::{Bar, Gantt, Row, gantt};
use ontick_tsn::network::Network;
use ontick_tsn::planning::{Placed, Timetable};
use ontick_tsn::validate::Schedule;
use ontick_units::exact;

use crate::failure::Failure;

/// More rows than anybody looks at.
const MOST_ROWS: usize = 200;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Rows {
    /// A row for each link, with the messages on it
    Links,
    /// A row for each stream, with its way from link to link
    Streams,
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
    let drawn = gantt(&picture(rows, network, table, schedule));
    match kind(file)? {
        Kind::Svg => store::write_whole(file, drawn.as_bytes())?,
        Kind::Png => store::write_whole(file, &ontick_report::png(&drawn, 2.0)?)?,
    }
    Ok(())
}

fn picture(rows: Rows, network: &Network, table: &Timetable, schedule: &Schedule) -> Gantt {
    let span_ns = match rows {
        Rows::Links => schedule.windows.iter().map(|window| window.cycle_ns).max(),
        Rows::Streams => table.placed.iter().flatten().map(Placed::latency_ns).max(),
    };
    let span_ns = span_ns.unwrap_or(0);
    let mut drawn = match rows {
        Rows::Links => of_links(network, table, span_ns),
        Rows::Streams => table.placed.iter().flatten().map(|placed| of_stream(network, placed)).collect(),
    };
    let all = drawn.len();
    drawn.truncate(MOST_ROWS);
    let what = if rows == Rows::Links { "links" } else { "streams" };
    let shown =
        if all > MOST_ROWS { format!("the first {MOST_ROWS} of {all} {what}") } else { format!("{all} {what}") };
    let streams = table.placed.iter().flatten().count();
    let title = match rows {
        Rows::Links => "When each link is taken",
        Rows::Streams => "Each stream on its way, from the beginning of its period",
    };
    Gantt {
        title: title.into(),
        about: format!("{streams} streams, {shown}, {}", exact(span_ns)),
        span_ns,
        rows: drawn,
    }
}

/// Each message as a bar, in all its periods.
fn of_links(network: &Network, table: &Timetable, span_ns: u64) -> Vec<Row> {
    let mut rows: Vec<Row> =
        (0..network.links.len()).map(|link| Row { name: network.link_name(link), bars: Vec::new() }).collect();
    for placed in table.placed.iter().flatten() {
        let of = &network.streams[placed.stream];
        for hop in &placed.hops {
            for n in 0..span_ns / of.period_ns {
                let begin_ns = (hop.begin_ns + n * of.period_ns) % span_ns;
                let end_ns = begin_ns + hop.end_ns - hop.begin_ns;
                let name = format!("{}: {} to {}", of.name, exact(begin_ns), exact(end_ns % span_ns));
                let bar = Bar { begin_ns, end_ns: end_ns.min(span_ns), colour: placed.stream, name, waits: false };
                rows[hop.link].bars.push(bar.clone());
                if end_ns > span_ns {
                    rows[hop.link].bars.push(Bar { begin_ns: 0, end_ns: end_ns - span_ns, ..bar });
                }
            }
        }
    }
    rows.retain(|row| !row.bars.is_empty());
    rows
}

/// Each hop as a bar; a thin one where it waits in a queue.
fn of_stream(network: &Network, placed: &Placed) -> Row {
    let mut bars = Vec::new();
    for (place, hop) in placed.hops.iter().enumerate() {
        let link = network.link_name(hop.link);
        let bar = |begin_ns, end_ns, waits, what: &str| {
            let name = format!("{link}: {what}{} to {}", exact(begin_ns), exact(end_ns));
            Bar { begin_ns, end_ns, colour: place, name, waits }
        };
        if hop.arrives_ns < hop.begin_ns {
            bars.push(bar(hop.arrives_ns, hop.begin_ns, true, "waits from "));
        }
        bars.push(bar(hop.begin_ns, hop.end_ns, false, ""));
    }
    Row { name: network.streams[placed.stream].name.clone(), bars }
}
