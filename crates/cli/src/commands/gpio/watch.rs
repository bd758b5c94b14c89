//! `ontick gpio watch`

mod dump;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use clap::Args;
use ontick_gpio::{Edge, Edges, Gone, Line, Name, Request};
use ontick_record::output_file;
use ontick_rt::clock::ClockId;
use ontick_units::{count, counted, show};
use serde::Serialize;

use super::pace::GLANCE_NS;
use super::{Filter, SetUp, render};
use crate::failure::{Failure, Outcome};
use crate::{privileges, stop, terminal};
use dump::{Begun, Dump};

/// Edges that wait to be printed; beyond that they wait where they come from, which counts those it drops.
const WAITING: usize = 65_536;

/// Show every edge of lines as it occurs, and count lost edges, until Ctrl-C.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio watch GPIO17\n  ontick gpio watch sim:bench/17 --edges rising --count 100 --json\n  ontick gpio watch GPIO17 --bias pull-up --active-low --debounce 10ms\n  ontick gpio watch GPIO17 GPIO27 --count 1000 --vcd edges.vcd"
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
    /// Also write a new file of the lines' levels over time, a value change dump as GTKWave, PulseView and `ontick import`
    /// read it
    #[arg(long, value_name = "FILE")]
    vcd: Option<PathBuf>,
    #[command(flatten)]
    set_up: SetUp,
    #[command(flatten)]
    filter: Filter,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// What a line's thread sends.
type Message = (usize, Report);

enum Report {
    Edge(Edge),
    /// No edge until then, in ns.
    Quiet(u64),
    Gone(Gone),
}

/// The dump that is written beside.
type FileDump = Dump<BufWriter<File>>;

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
    /// The time of the last edge, in ns, once as many were seen as were asked for.
    full_ns: Option<u64>,
    last_ns: u64,
}

impl Watch {
    pub fn run(self) -> Result<Outcome, Failure> {
        if let Some(twice) = (1..self.lines.len()).find(|n| self.lines[..*n].contains(&self.lines[*n])) {
            return Err(Failure::new(format!("line {} is named twice: name each line once", self.lines[twice])));
        }
        let stop = stop::on_signal()?;
        let request = self.set_up.of(Request::input()).edges(self.edges).debounce(self.filter.debounce);
        let lines: Result<Vec<Line>, _> = self.lines.iter().map(|name| Line::open(name, &request)).collect();
        let mut lines = lines?;
        let mut dump = self.vcd.as_deref().map(|path| self.begin_dump(path, &mut lines)).transpose()?;
        privileges::GPIO_WATCH.settle()?;
        let watched: Vec<_> = lines.iter().map(watched).collect();
        begin(&watched);
        let (tally, ended, dumped) = thread::scope(|scope| {
            let (sender, receiver) = sync_channel(WAITING);
            for (index, line) in lines.into_iter().enumerate() {
                let (sender, stop, tells_all) = (sender.clone(), &stop, dump.is_some());
                scope.spawn(move || follow(index, line, tells_all, &sender, stop));
            }
            drop(sender);
            let mut tally = Tally::default();
            let ended = self.print(&watched, &receiver, &mut dump, &mut tally);
            // The threads end too, whyever this did.
            stop.store(true, Relaxed);
            let until_ns = tally.full_ns.unwrap_or_else(|| ClockId::Monotonic.now_ns());
            let dumped = dump.map_or(Ok(()), |dump| end_dump(dump, &receiver, until_ns));
            (tally, ended, dumped)
        });
        let simulated = watched.iter().map(|line| render::note(line.backend)).max().unwrap_or_default();
        terminal::say(&format!("{}, {} lost{simulated}", counted(tally.edges, "edge"), count(tally.lost)));
        ended?;
        self.dumped(dumped)?;
        Ok(Outcome::Met)
    }

    /// A new file, which has the levels that the lines have now.
    fn begin_dump(&self, path: &Path, lines: &mut [Line]) -> Result<FileDump, Failure> {
        if self.edges != Edges::Both {
            return Err(Failure::new("a dump shows levels, which takes both edges: leave out --edges, or --vcd"));
        }
        let begun = |line: &mut Line| {
            let level = line.read().map_err(|gone| Failure::new(format!("line {}: {gone}", line.name())))?;
            Ok(Begun { name: line.name().to_string(), level, read_ns: ClockId::Monotonic.now_ns() })
        };
        let begun: Vec<Begun> = lines.iter_mut().map(begun).collect::<Result<_, Failure>>()?;
        let file = output_file::create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Failure::new(format!("{} exists already: name another file", path.display()))
            }
            _ => self.no_dump(&error),
        })?;
        self.dumped(Dump::begin(BufWriter::new(file), begun))
    }

    fn dumped<T>(&self, written: io::Result<T>) -> Result<T, Failure> {
        written.map_err(|error| self.no_dump(&error))
    }

    fn no_dump(&self, error: &io::Error) -> Failure {
        let path = self.vcd.as_deref().unwrap_or(Path::new(""));
        Failure::new(format!("cannot write {}: {error}", path.display()))
    }

    /// Prints what the threads tell, until they end or enough was reported.
    fn print(
        &self,
        watched: &[Watched],
        reported: &Receiver<Message>,
        dump: &mut Option<FileDump>,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let mut last_ns = HashMap::new();
        while let Ok(first) = reported.recv() {
            let mut text = String::new();
            // All that are there go out at once.
            for (index, report) in std::iter::once(first).chain(reported.try_iter()) {
                let line = &watched[index];
                let edge = match report {
                    Report::Edge(edge) => edge,
                    Report::Quiet(until_ns) => {
                        if let Some(dump) = dump {
                            dump.quiet(index, until_ns);
                        }
                        continue;
                    }
                    Report::Gone(gone) => {
                        out(&text)?;
                        return Err(Failure::new(format!("line {}: {gone}", line.name)));
                    }
                };
                tally.edges += 1;
                tally.lost += u64::from(edge.lost);
                tally.last_ns = tally.last_ns.max(edge.time_ns);
                if let Some(dump) = dump {
                    dump.edge(index, edge);
                }
                let since_ns = last_ns.insert(index, edge.time_ns).map(|last| edge.time_ns.saturating_sub(last));
                text += &self.render(line, edge, since_ns)?;
                if self.count == Some(tally.edges) {
                    tally.full_ns = Some(tally.last_ns);
                    return out(&text).map(|_| ());
                }
            }
            if !text.is_empty() && !out(&text)? {
                return Ok(());
            }
            if let Some(dump) = dump {
                self.dumped(dump.write_told())?;
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

/// Ends a dump at `until_ns`, with the edges until then that the threads still tell of: later ones are not all known.
fn end_dump<W: Write>(mut dump: Dump<W>, reported: &Receiver<Message>, until_ns: u64) -> io::Result<()> {
    for (index, report) in reported {
        match report {
            Report::Edge(edge) if edge.time_ns <= until_ns => dump.edge(index, edge),
            _ => {}
        }
    }
    dump.end(until_ns)
}

/// Tells of a line's edges until `stop`, or until nobody listens; `tells_all`: also of times without any.
fn follow(index: usize, mut line: Line, tells_all: bool, sender: &SyncSender<Message>, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        let until_ns = ClockId::Monotonic.now_ns() + GLANCE_NS;
        let report = match line.edge(until_ns) {
            Ok(Some(edge)) => Report::Edge(edge),
            Ok(None) if tells_all => Report::Quiet(until_ns),
            Ok(None) => continue,
            Err(gone) => Report::Gone(gone),
        };
        let gone = matches!(report, Report::Gone(_));
        if sender.send((index, report)).is_err() || gone {
            return;
        }
    }
    // Those that were there when Ctrl-C came were seen too.
    let stopped_ns = ClockId::Monotonic.now_ns();
    while let Ok(Some(edge)) = line.edge(0) {
        if edge.time_ns > stopped_ns || sender.send((index, Report::Edge(edge))).is_err() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_ends_where_not_all_edges_are_known_any_more() {
        let mut written = Vec::new();
        let begun = ["a", "b"].map(|name| Begun { name: name.into(), level: false, read_ns: 1_000 });
        let mut dump = Dump::begin(&mut written, begun.into()).unwrap();
        let edge = |rising, time_ns| Edge { rising, time_ns, lost: 0 };
        dump.edge(0, edge(true, 1_500));
        let (sender, receiver) = sync_channel(8);
        let rest =
            [(1, Report::Edge(edge(true, 1_400))), (1, Report::Quiet(9_000)), (0, Report::Edge(edge(false, 1_600)))];
        rest.into_iter().for_each(|message| sender.send(message).unwrap());
        drop(sender);
        end_dump(dump, &receiver, 1_500).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(text.ends_with("$end\n#400\n1\"\n#500\n1!\n"), "{text}");
    }
}
