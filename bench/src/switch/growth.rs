//! How the core's cost per frame grows with the ports of a switch and with the stations behind them.

use std::path::Path;

use ontick_record::compare::{Spread, paired};
use ontick_report::plot::{Growth, Panel, growth};
use ontick_tsn::model::Socket;

use super::cost::{FRAMES, Way, measure as drain};
use super::elsewhere;
use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::side::Job;
use crate::unthrottled::Unthrottled;

/// Ports of a switch with one station behind the second.
const PORTS: [usize; 5] = [2, 4, 8, 16, 32];
/// Stations behind the second of two ports.
const STATIONS: [u64; 5] = [1, 64, 1_024, 8_192, 64_000];
/// Full rings that are drained in each turn.
const RINGS: u32 = 20;
/// The largest switch's cost beside the smallest one's.
const AT_MOST: f64 = 1.2;

/// One size of a switch: the core's cost per frame as a share of a bare send's, and in ns, of each turn.
pub struct Size {
    way: Way,
    shares: Vec<f64>,
    costs_ns: Vec<f64>,
    missing: u64,
}

/// What grew with ports, and what with stations.
pub struct Figures {
    ports: Vec<Size>,
    stations: Vec<Size>,
}

/// Turns of all sizes, forwards and backwards.
pub fn measure(job: &Job, turns: u32, page: &mut Page) -> Result<Figures, String> {
    let _unthrottled = Unthrottled::begin(job.cpu)?;
    let smallest = Way::new(Socket::Packet, false);
    let mut figures = Figures {
        ports: PORTS.map(|ports| Size::of(Way { ports, ..smallest })).into(),
        stations: STATIONS.map(|stations| Size::of(Way { stations, ..smallest })).into(),
    };
    for turn in 0..turns {
        let mut all: Vec<&mut Size> = figures.ports.iter_mut().chain(&mut figures.stations).collect();
        if turn % 2 == 1 {
            all.reverse();
        }
        all.into_iter().try_for_each(|size| size.turn(job))?;
    }
    page.heading("The switch: the core's cost per frame as it grows, packet sockets, gates off, virtual Ethernet");
    page.table(&figures.table());
    page.words(&format!(
        "{turns} turns of all sizes, forwards and backwards; in each the other CPU fills the ring of the first port with {FRAMES} frames {RINGS} times, and the core drains it to the second, with as many bare sends before or after. Nothing happens at the other ports, at each of which the core looks in each of its turns. Frames are for each station in turn. Medians over the turns, and the least and the greatest share."
    ));
    Ok(figures)
}

impl Size {
    fn of(way: Way) -> Self {
        Self { way, shares: Vec::new(), costs_ns: Vec::new(), missing: 0 }
    }

    fn turn(&mut self, job: &Job) -> Result<(), String> {
        let figures = drain(job, self.way, RINGS, elsewhere(job))?;
        let (core_ns, missing) = figures.core_ns();
        self.shares.push(figures.share());
        self.costs_ns.push(core_ns);
        self.missing += missing;
        Ok(())
    }

    fn share(&self) -> Option<f64> {
        spread(&self.shares).map(|shares| shares.median)
    }
}

impl Figures {
    fn table(&self) -> Table {
        let mut table = Table::new(&["ports", "stations", "core, per frame", "core / bare send", "missing"]);
        for size in self.ports.iter().chain(&self.stations) {
            let cost = spread(&size.costs_ns).map_or("—".into(), |ns| format!("{:.0}ns", ns.median));
            let share = spread(&size.shares)
                .map_or("—".into(), |of| format!("{:.2} ({:.2} to {:.2})", of.median, of.min, of.max));
            table.row([
                size.way.ports.to_string(),
                size.way.stations.to_string(),
                cost,
                share,
                size.missing.to_string(),
            ]);
        }
        table
    }

    /// Draws both curves, into `images` beside the page.
    pub fn draw(&self, page_file: &Path, page: &mut Page) -> Result<(), String> {
        let curve = |of: &[Size], name: &str, number: fn(&Way) -> f64| Panel {
            name: name.into(),
            points: of.iter().filter_map(|size| Some((number(&size.way).log2(), size.share()?))).collect(),
        };
        let drawn = growth(&Growth {
            title: "A frame's cost beside a bare send, as a switch grows".into(),
            about: "packet sockets, gates off, virtual Ethernet".into(),
            with: "ports above, stations below: their binary logarithm".into(),
            panels: vec![
                curve(&self.ports, "ports: core / bare", |way| way.ports as f64),
                curve(&self.stations, "stations: core / bare", |way| way.stations as f64),
            ],
        });
        page.picture(page_file, "switch-growth.svg", &drawn, "a frame's cost over ports and stations")
    }

    pub fn goals(&self) -> Vec<Goal> {
        vec![goal("ports", &self.ports, |way| way.ports as u64), goal("stations", &self.stations, |way| way.stations)]
    }
}

fn spread(of: &[f64]) -> Option<Spread> {
    paired(of.iter().copied())
}

/// The dearest size beside the cheapest.
fn goal(what: &str, sizes: &[Size], number: fn(&Way) -> u64) -> Goal {
    let shares: Vec<f64> = sizes.iter().filter_map(Size::share).collect();
    let range = sizes.iter().map(|size| number(&size.way));
    let (from, to) = (range.clone().min().unwrap_or_default(), range.max().unwrap_or_default());
    let missing: u64 = sizes.iter().map(|size| size.missing).sum();
    let (least, most) =
        shares.iter().fold((f64::INFINITY, 0.0f64), |(least, most), of| (least.min(*of), most.max(*of)));
    Goal::new(
        format!("switch: the core's cost per frame with {from} to {to} {what}, the dearest beside the cheapest"),
        format!("≤ ×{AT_MOST}, none missing"),
        (shares.len() == sizes.len()).then(|| {
            let ratio = most / least;
            (format!("×{ratio:.2}, {missing} missing"), ratio <= AT_MOST && missing == 0)
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dearest_size_counts_beside_the_cheapest() {
        let way = Way::new(Socket::Packet, false);
        let size = |ports, share: f64| Size { shares: vec![share, 9.0, 0.1], ..Size::of(Way { ports, ..way }) };
        let met = |sizes: &[Size]| goal("ports", sizes, |way| way.ports as u64).reached;
        assert_eq!(met(&[size(2, 1.2), size(8, 1.0), size(32, 1.19)]), Some(true));
        assert_eq!(met(&[size(2, 1.0), size(8, 1.21), size(32, 1.0)]), Some(false));
        assert_eq!(met(&[size(2, 1.0), Size { missing: 1, ..size(32, 1.0) }]), Some(false));
        assert_eq!(met(&[size(2, 1.0), Size::of(way)]), None);
    }
}
