//! Stopping the kernel's trace at the first latency over a limit: what led to it is then still in the trace that somebody
//! started, as by trace-cmd.
//!
//! The thread that was late writes it itself, at once, into files that were opened before it began. It is the trace that is
//! there without instances: ontick's own tracing goes on in instances of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use ontick_units::{exact, show};

use crate::Error;
use crate::explain::tracefs::Tracefs;

const OPENING: &str = "opening the kernel's trace, which is to be stopped (it needs root, and tracefs)";
/// Room for the line with numbers of any length.
const LINE: usize = 96;

/// What stops the kernel's trace, once.
pub struct TraceBreak {
    over_ns: u64,
    marker: File,
    on: File,
    on_path: PathBuf,
    crossed: AtomicBool,
    /// Of the thread that crossed the limit.
    latency_ns: AtomicU64,
    cpu: AtomicUsize,
    /// Why the line or the stop was refused (errno(3)); 0 where it was not.
    unmarked: AtomicI32,
    unstopped: AtomicI32,
}

impl TraceBreak {
    /// Opens what is written to at the first latency over `over_ns`. Refused where nothing is traced that could be stopped.
    pub fn prepare(over_ns: u64) -> Result<Self, Error> {
        let tracefs = Tracefs::find().map_err(Error::system(OPENING))?;
        if !tracefs.is_mounted() {
            return Err(Error::Impossible(
                "there is no trace to be stopped, as tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing, \
                 and start a trace"
                    .into(),
            ));
        }
        Self::open(&tracefs, over_ns)
    }

    pub(crate) fn open(tracefs: &Tracefs, over_ns: u64) -> Result<Self, Error> {
        let on_path = tracefs.path("tracing_on");
        if tracefs.file("tracing_on").map_err(Error::system(OPENING))?.trim() == "0" {
            return Err(Error::Impossible(format!(
                "the kernel's trace is off, so there is none to be stopped: start one (trace-cmd start -e sched -e irq, or {})",
                turned_on(&on_path)
            )));
        }
        let read = |file: &str| tracefs.file(file).map_err(Error::system(OPENING));
        if read("current_tracer")?.trim() == "nop" && read("set_event")?.trim().is_empty() {
            return Err(Error::Impossible(
                "the kernel's trace has no tracer and no event, so what makes a thread late would not be in it: start one \
                 (trace-cmd start -e sched -e irq)"
                    .into(),
            ));
        }
        let open = |path: &Path| OpenOptions::new().write(true).open(path).map_err(Error::system(OPENING));
        Ok(Self {
            over_ns,
            marker: open(&tracefs.path("trace_marker"))?,
            on: open(&on_path)?,
            on_path,
            crossed: AtomicBool::new(false),
            latency_ns: AtomicU64::new(0),
            cpu: AtomicUsize::new(0),
            unmarked: AtomicI32::new(0),
            unstopped: AtomicI32::new(0),
        })
    }

    /// Has what a late thread will need brought into memory. On that thread, before it is timed.
    pub(crate) fn practise(&self) {
        std::hint::black_box(line(&mut [0; LINE], u64::MAX, rustix::thread::sched_getcpu(), self.over_ns));
    }

    /// The calling thread was late by this, over the limit: writes a line into the trace, and stops it. Only the first time,
    /// whichever thread it is; whether this was it. Two system calls, no allocation, no lock of this process.
    pub(crate) fn stop(&self, latency_ns: u64) -> bool {
        if self.crossed.swap(true, Relaxed) {
            return false;
        }
        let cpu = rustix::thread::sched_getcpu();
        let mut room = [0; LINE];
        let line = line(&mut room, latency_ns, cpu, self.over_ns);
        let marked = rustix::io::write(&self.marker, line);
        let stopped = rustix::io::write(&self.on, b"0");
        self.latency_ns.store(latency_ns, Relaxed);
        self.cpu.store(cpu, Relaxed);
        self.unmarked.store(marked.err().map_or(0, |error| error.raw_os_error()), Relaxed);
        self.unstopped.store(stopped.err().map_or(0, |error| error.raw_os_error()), Relaxed);
        true
    }

    /// What became of the trace, once the measurement is over, and how it goes on; an error where that is not what was wanted.
    pub fn told(&self) -> Result<String, String> {
        let over = exact(self.over_ns);
        if !self.crossed.load(Relaxed) {
            return Ok(format!("the kernel's trace was not stopped: no latency was over {over}"));
        }
        let why = format!("{} on CPU {}, over {over}", show(self.latency_ns.load(Relaxed)), self.cpu.load(Relaxed));
        let refused = |errno: &AtomicI32| match errno.load(Relaxed) {
            0 => None,
            errno => Some(io::Error::from_raw_os_error(errno)),
        };
        if let Some(error) = refused(&self.unstopped) {
            return Err(format!("the kernel's trace could not be stopped at {why}: {error}"));
        }
        let stopped = format!("the kernel's trace was stopped at {why}");
        let again = format!("{} starts it again", turned_on(&self.on_path));
        match refused(&self.unmarked) {
            None => Ok(format!("{stopped} (trace-cmd show); {again}")),
            Some(error) => Err(format!("{stopped}, without a line that says so ({error}); {again}")),
        }
    }
}

/// `ontick: 153200 ns on CPU 3, over 100000 ns`
fn line(room: &mut [u8; LINE], latency_ns: u64, cpu: usize, over_ns: u64) -> &[u8] {
    let mut rest = &mut room[..];
    // There is room for it.
    let _ = writeln!(rest, "ontick: {latency_ns} ns on CPU {cpu}, over {over_ns} ns");
    let left = rest.len();
    &room[..LINE - left]
}

/// The command that lets a trace go on.
fn turned_on(on: &Path) -> String {
    format!("echo 1 | sudo tee {}", on.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Plain files in place of the kernel's.
    fn traced(on: &str) -> (tempfile::TempDir, Result<TraceBreak, Error>) {
        traced_by(on, "nop\n", "sched:sched_switch\n")
    }

    fn traced_by(on: &str, tracer: &str, events: &str) -> (tempfile::TempDir, Result<TraceBreak, Error>) {
        let folder = tempfile::tempdir().unwrap();
        let files = [("tracing_on", on), ("trace_marker", ""), ("current_tracer", tracer), ("set_event", events)];
        files.iter().for_each(|(file, text)| fs::write(folder.path().join(file), text).unwrap());
        let opened = TraceBreak::open(&Tracefs::of_files(folder.path().into()), 100_000);
        (folder, opened)
    }

    #[test]
    fn the_first_that_is_late_is_in_the_trace_and_stops_it() {
        let (folder, trace) = traced("1\n");
        let (trace, read) = (trace.unwrap(), |file: &str| fs::read_to_string(folder.path().join(file)).unwrap());
        trace.practise();
        assert_eq!((read("trace_marker").as_str(), read("tracing_on").as_str()), ("", "1\n"));
        assert_eq!(trace.told().unwrap(), "the kernel's trace was not stopped: no latency was over 100us");
        assert!(trace.stop(153_200));
        assert!(!trace.stop(999_999));
        let cpu = trace.cpu.load(Relaxed);
        assert_eq!(read("trace_marker"), format!("ontick: 153200 ns on CPU {cpu}, over 100000 ns\n"));
        assert_eq!(read("tracing_on"), "0\n");
        let told = trace.told().unwrap();
        assert!(
            told.starts_with(&format!("the kernel's trace was stopped at 153us on CPU {cpu}, over 100us")),
            "{told}"
        );
        let on = folder.path().join("tracing_on");
        assert!(told.ends_with(&format!("echo 1 | sudo tee {} starts it again", on.display())), "{told}");
    }

    #[test]
    fn a_line_has_room_for_any_numbers() {
        let text = String::from_utf8(line(&mut [0; LINE], u64::MAX, usize::MAX, u64::MAX).to_vec()).unwrap();
        assert_eq!(text, format!("ontick: {0} ns on CPU {0}, over {0} ns\n", u64::MAX));
    }

    #[test]
    fn where_nothing_can_be_stopped_that_is_said_before_anything_begins() {
        let refused = |on: &str| traced(on).1.err().unwrap().to_string();
        assert!(refused("0\n").contains("is off"), "{}", refused("0\n"));
        let nothing = traced_by("1\n", "nop\n", "").1.err().unwrap().to_string();
        assert!(nothing.contains("no tracer and no event") && nothing.contains("trace-cmd start"), "{nothing}");
        assert!(traced_by("1\n", "function_graph\n", "").1.is_ok());
        let nowhere = TraceBreak::open(&Tracefs::of_files("/nonexistent".into()), 1).err().unwrap().to_string();
        assert!(nowhere.contains("tracefs") && nowhere.contains("No such file"), "{nowhere}");
    }

    /// As where another stopped it meanwhile, or the kernel takes no line.
    #[test]
    fn what_was_refused_is_told() {
        let (folder, trace) = traced("1");
        let read_only = |file: &str| File::open(folder.path().join(file)).unwrap();
        let trace = TraceBreak { marker: read_only("trace_marker"), ..trace.unwrap() };
        trace.stop(200_000);
        let told = trace.told().unwrap_err();
        assert!(told.contains("was stopped at 200us") && told.contains("without a line"), "{told}");
        let trace = TraceBreak { on: read_only("tracing_on"), crossed: AtomicBool::new(false), ..trace };
        trace.stop(200_000);
        let told = trace.told().unwrap_err();
        assert!(told.contains("could not be stopped at 200us"), "{told}");
    }
}
