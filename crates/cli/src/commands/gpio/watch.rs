//! `ontick gpio watch`

use std::collections::HashMap;
use std::io::{self, Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use clap::Args;
use ontick_gpio::{Edge, Edges, Gone, Line, Name, Request};
use ontick_rt::clock::ClockId;
use ontick_units::{count, counted, show};
use serde::Serialize;

use super::pace::GLANCE_NS;
use super::{Filter, SetUp, render};
use crate::failure::{Failure, Outcome};
use crate::{privileges, stop, terminal};

/// Edges that wait to be printed; beyond that they wait where they come from, which counts those it drops.
const WAITING: usize = 65_536;

/// Show every edge of lines as it occurs, and count lost edges, until Ctrl-C.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio watch GPIO17\n  ontick gpio watch sim:bench/17 --edges rising --count 100 --json\n  ontick gpio watch GPIO17 --bias pull-up --active-low --debounce 10ms   a button"
)]
pub struct Watch {
    /// Lines to watch
    #[arg(required = true, value_name = "LINE")]
    lines: Vec<Name>,
    /// Which edges: rising, falling or both
    #[arg(long, default_value = "both")]
    edges: Edges,
    /// End after this many edges
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    #[command(flatten)]
    set_up: SetUp,
    #[command(flatten)]
    filter: Filter,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// What a line's thread sends.
type EdgeMessage = (usize, Result<Edge, Gone>);

/// How a line is shown.
struct Watched {
    name: String,
    backend: &'static str,
}

/// An edge in JSON.
#[derive(Serialize)]
struct Shown<'a> {
    line: &'a str,
    edge: &'a str,
    time_ns: u64,
    lost: u32,
    backend: &'a str,
}

#[derive(Default)]
struct Tally {
    edges: u64,
    lost: u64,
}

impl Watch {
    pub fn run(self) -> Result<Outcome, Failure> {
        let stop = stop::on_signal()?;
        let request = self.set_up.of(Request::input()).edges(self.edges).debounce(self.filter.debounce);
        let lines: Result<Vec<Line>, _> = self.lines.iter().map(|name| Line::open(name, &request)).collect();
        let lines = lines?;
        privileges::GPIO_WATCH.settle()?;
        let watched: Vec<_> = lines.iter().map(watched).collect();
        begin(&watched);
        let (tally, ended) = thread::scope(|scope| {
            let (sender, receiver) = sync_channel(WAITING);
            for (index, line) in lines.into_iter().enumerate() {
                let (sender, stop) = (sender.clone(), &stop);
                scope.spawn(move || follow(index, line, &sender, stop));
            }
            drop(sender);
            let mut tally = Tally::default();
            let ended = self.print(&watched, &receiver, &mut tally);
            // The threads end too, whyever this did.
            stop.store(true, Relaxed);
            (tally, ended)
        });
        let simulated = watched.iter().map(|line| render::note(line.backend)).max().unwrap_or_default();
        terminal::say(&format!("{}, {} lost{simulated}", counted(tally.edges, "edge"), count(tally.lost)));
        ended.map(|()| Outcome::Met)
    }

    /// Prints what the threads tell, until they end or enough was reported.
    fn print(&self, watched: &[Watched], reported: &Receiver<EdgeMessage>, tally: &mut Tally) -> Result<(), Failure> {
        let mut last_ns = HashMap::new();
        while let Ok(first) = reported.recv() {
            let mut text = String::new();
            // All that are there go out at once.
            for (index, edge) in std::iter::once(first).chain(reported.try_iter()) {
                let line = &watched[index];
                let edge = match edge {
                    Ok(edge) => edge,
                    Err(gone) => {
                        out(&text)?;
                        return Err(Failure::new(format!("line {}: {gone}", line.name)));
                    }
                };
                tally.edges += 1;
                tally.lost += u64::from(edge.lost);
                let since_ns = last_ns.insert(index, edge.time_ns).map(|last| edge.time_ns.saturating_sub(last));
                text += &self.render(line, edge, since_ns)?;
                if self.count == Some(tally.edges) {
                    return out(&text).map(|_| ());
                }
            }
            if !out(&text)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn render(&self, line: &Watched, edge: Edge, since_ns: Option<u64>) -> Result<String, Failure> {
        let direction = if edge.rising { "rising" } else { "falling" };
        let Edge { time_ns, lost, .. } = edge;
        let Watched { name, backend } = line;
        if self.json {
            let shown = Shown { line: name, edge: direction, time_ns, lost, backend };
            return Ok(serde_json::to_string(&shown)? + "\n");
        }
        let time = format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        let since = since_ns.map(|ns| format!("+{}", show(ns))).unwrap_or_default();
        let lost = if lost > 0 { format!("  {lost} lost before it") } else { String::new() };
        Ok(format!("{time:>18}  {name}  {direction:<7} {since:>8}{lost}{}\n", render::note(backend)))
    }
}

fn watched(line: &Line) -> Watched {
    Watched { name: line.name().to_string(), backend: line.backend().name() }
}

fn begin(watched: &[Watched]) {
    let names: Vec<_> = watched.iter().map(|line| format!("{}{}", line.name, render::note(line.backend))).collect();
    terminal::say(&format!("Watching {}; Ctrl-C ends.", names.join(", ")));
}

/// Tells of a line's edges until `stop`, or until nobody listens.
fn follow(index: usize, mut line: Line, sender: &SyncSender<EdgeMessage>, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        match line.edge(ClockId::Monotonic.now_ns() + GLANCE_NS).transpose() {
            Some(reported) => {
                let gone = reported.is_err();
                if sender.send((index, reported)).is_err() || gone {
                    return;
                }
            }
            None => continue,
        }
    }
    // Those that were there when Ctrl-C came were seen too.
    let stopped_ns = ClockId::Monotonic.now_ns();
    while let Ok(Some(edge)) = line.edge(0) {
        if edge.time_ns > stopped_ns || sender.send((index, Ok(edge))).is_err() {
            return;
        }
    }
}

/// `false` when the reader went away, which ends the watch quietly.
fn out(text: &str) -> Result<bool, Failure> {
    let mut out = stdout().lock();
    match out.write_all(terminal::harmless(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(format!("cannot write to standard output: {error}"))),
    }
}
