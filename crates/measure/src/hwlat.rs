//! `latency noise --hwlat`: gaps that no interrupt and no task of the kernel can have made, by its tracer hwlat
//! (Documentation/trace/hwlat_detector.rst).
//!
//! The tracer holds the interrupts of a CPU off for a part of the time, reads a clock, and tells of the longest gap of each
//! such part: firmware, hardware or a hypervisor. It delays whatever else is to run there, so it runs beside no timed thread,
//! only where it is asked for. It belongs to a private instance of the kernel's tracing, and a guardian stops it where this
//! process cannot.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use ontick_record::run::{Series, Settings};
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use ontick_undo::guardian::Writes;
use ontick_units::exact;

use crate::explain::tracefs::{Instance, Tracefs};
use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Placement, session};

/// How often the trace is read.
const LOOK: Duration = Duration::from_millis(50);
const TRACER: &str = "hwlat";
const STARTING: &str = "starting the tracer hwlat";

/// Runs the tracer on this CPU, and records the gaps that it finds of at least `shortest_ns`.
pub fn measure(
    name: &str,
    shortest_ns: u64,
    cpu: u32,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    if !cpus::online().contains(&cpu) {
        return Err(Error::Impossible(format!("CPU {cpu} is not online")));
    }
    let tracefs = Tracefs::find().map_err(Error::system("the kernel's tracing (it needs root, and tracefs)"))?;
    tracefs.clean();
    let sampling = Sampling::of(&tracefs)?;
    if !tracefs.is_mounted() {
        // A guardian has to find the tracer by its path.
        return Err(Error::Impossible(
            "tracefs is not mounted, by which the tracer is stopped should ontick be killed: mount -t tracefs tracefs /sys/kernel/tracing"
                .into(),
        ));
    }
    let instance = tracefs.instance().map_err(Error::system("making a tracing instance"))?;
    let tracer = Tracer::start_in(instance, cpu, shortest_ns, sampling)?;
    observer.note(format!(
        "interrupts of CPU {cpu} were off for {} of each {}: of each such part the longest gap is recorded, from {} on",
        exact(sampling.width_ns),
        exact(sampling.window_ns),
        exact(sampling.threshold_ns.max(shortest_ns))
    ));
    let not_masked = AtomicU64::new(0);
    let prepare = |_: &_| Ok(Hwlat { tracer, not_masked: &not_masked });
    let series = session::run(name, Placement::stock(), limits, prepare, observer)?;
    match not_masked.load(Relaxed) {
        0 => {}
        count => observer.note(format!(
            "{count} more gaps had a non-maskable interrupt in them, which is the kernel's: they are left out"
        )),
    }
    Ok(series)
}

/// How the tracer samples: it looks for `width_ns` of each `window_ns`, and tells of what is longer than the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sampling {
    width_ns: u64,
    window_ns: u64,
    threshold_ns: u64,
}

impl Sampling {
    /// As the kernel has it set; refused where it has no such tracer.
    fn of(tracefs: &Tracefs) -> Result<Self, Error> {
        let tracers = tracefs.file("available_tracers").unwrap_or_default();
        if !tracers.split_whitespace().any(|tracer| tracer == TRACER) {
            return Err(Error::Impossible(
                "this kernel has no tracer hwlat: it takes one with CONFIG_HWLAT_TRACER".into(),
            ));
        }
        let ns = |file: &str, or_us: u64| {
            let us = tracefs.file(file).ok().and_then(|us| us.trim().parse().ok()).filter(|us| *us > 0);
            us.unwrap_or(or_us) * 1_000
        };
        Ok(Self {
            width_ns: ns("hwlat_detector/width", 500_000),
            window_ns: ns("hwlat_detector/window", 1_000_000),
            threshold_ns: ns("tracing_thresh", 10),
        })
    }
}

/// The tracer at work on one CPU, until it is dropped.
struct Tracer {
    trace: File,
    /// What was read and is no whole line yet.
    unread: Vec<u8>,
    gaps: VecDeque<Gap>,
    cpu: u32,
    shortest_ns: u64,
    sampling: Sampling,
    // In the order in which they end: the pipe is closed before the tracer stops, which stops before its instance goes.
    _stops: Writes,
    _instance: Instance,
}

/// A gap, and whether a non-maskable interrupt was in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    at_ns: u64,
    length_ns: u64,
    interrupted: bool,
}

impl Tracer {
    /// Begins in this instance.
    fn start_in(instance: Instance, cpu: u32, shortest_ns: u64, sampling: Sampling) -> Result<Self, Error> {
        let refused = Error::system;
        instance.set("tracing_cpumask", &Mask(cpu).to_string()).map_err(refused(STARTING))?;
        // Stamps compare with those of other measurements.
        instance.set("trace_clock", "mono").map_err(refused(STARTING))?;
        let back = vec![(instance.file("current_tracer"), "nop".into())];
        let stops = Writes::start(back).map_err(refused("starting a guardian"))?;
        instance.set("current_tracer", TRACER).map_err(|error| match error.kind() {
            ErrorKind::ResourceBusy => Error::Impossible(
                "the tracer hwlat runs already, and only one can (hwlatdetect, rtla hwnoise, another ontick): end that first"
                    .into(),
            ),
            _ => refused(STARTING)(error),
        })?;
        // Not before, and not in the guardian: the kernel changes no tracer whose pipe is open.
        let trace = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(instance.file("trace_pipe"))
            .map_err(refused(STARTING))?;
        let (unread, gaps) = (Vec::new(), VecDeque::new());
        Ok(Self { trace, unread, gaps, cpu, shortest_ns, sampling, _stops: stops, _instance: instance })
    }

    /// Takes what was written since.
    fn read(&mut self) {
        let mut room = [0; 4096];
        while let Ok(length @ 1..) = self.trace.read(&mut room) {
            self.unread.extend_from_slice(&room[..length]);
        }
        let Some(end) = self.unread.iter().rposition(|byte| *byte == b'\n') else { return };
        let lines: Vec<u8> = self.unread.drain(..=end).collect();
        self.gaps.extend(String::from_utf8_lossy(&lines).lines().filter_map(gap));
    }
}

/// The mask of one CPU as the kernel reads it.
struct Mask(u32);

impl std::fmt::Display for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}", 1u32 << (self.0 % 32))?;
        (0..self.0 / 32).try_for_each(|_| f.write_str(",00000000"))
    }
}

/// ` <...>-1729  [001] d...   678.473449: #1     inner/outer(us):   11/12    ts:… count:6 nmi-count:1`: the longer of both.
fn gap(line: &str) -> Option<Gap> {
    let (head, found) = line.split_once(": #")?;
    let (seconds, us) = head.split_whitespace().next_back()?.split_once('.')?;
    let lengths = found.split_once("inner/outer(us):")?.1.trim_start();
    let (inner, rest) = lengths.split_once('/')?;
    let outer = rest.split_whitespace().next()?;
    let length_us = inner.trim().parse::<u64>().ok()?.max(outer.parse().ok()?);
    let at_us = seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(us.parse().ok()?)?;
    let interrupted = found.split_whitespace().any(|word| word.starts_with("nmi-count:"));
    Some(Gap { at_ns: at_us.checked_mul(1_000)?, length_ns: length_us.checked_mul(1_000)?, interrupted })
}

struct Hwlat<'a> {
    tracer: Tracer,
    not_masked: &'a AtomicU64,
}

impl Probe for Hwlat<'_> {
    fn next(&mut self) -> Sample {
        if self.tracer.gaps.is_empty() {
            self.tracer.read();
        }
        let (now_ns, latency_ns) = match self.tracer.gaps.pop_front() {
            Some(gap) if gap.interrupted => {
                self.not_masked.fetch_add(1, Relaxed);
                (gap.at_ns, None)
            }
            Some(gap) => (gap.at_ns, Some(gap.length_ns).filter(|ns| *ns >= self.tracer.shortest_ns)),
            None => {
                std::thread::sleep(LOOK);
                (ClockId::Monotonic.now_ns(), None)
            }
        };
        Sample { now_ns, latency_ns, missed: 0, early_ns: 0, napped: false }
    }

    fn may_practise(&self) -> bool {
        false
    }

    fn describe(&mut self, settings: &mut Settings) {
        let Sampling { width_ns, window_ns, threshold_ns } = self.tracer.sampling;
        settings.method = "hwlat, interrupts off".into();
        settings.shortest_ns = Some(threshold_ns.max(self.tracer.shortest_ns));
        settings.cpu = Some(self.tracer.cpu);
        settings.policy = String::new();
        settings.spin_duty = Some(width_ns as f64 / window_ns.max(1) as f64);
        settings.clock = "the kernel's".into();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{Length, Live};

    const LINES: &str = concat!(
        "           <...>-1729    [001] d....   678.473449: #1     inner/outer(us):   11/12    ts:1581527483.343962693 count:6\n",
        "           <...>-1729    [001] d....   679.473449: #2     inner/outer(us):   20/20    ts:1581527484.343962693 count:1 nmi-count:1\n",
        "           <...>-1729    [001] dn...   680.473449: #3     inner/outer(us): 2152/1933  ts:1581527485.343962693 count:1\n",
    );

    #[test]
    fn a_line_of_the_trace_is_a_gap() {
        let gaps: Vec<Gap> = LINES.lines().filter_map(gap).collect();
        let of = |at_ns, length_ns, interrupted| Gap { at_ns, length_ns, interrupted };
        assert_eq!(
            gaps,
            [
                of(678_473_449_000, 12_000, false),
                of(679_473_449_000, 20_000, true),
                of(680_473_449_000, 2_152_000, false)
            ]
        );
        for other in
            ["", "CPU:1 [LOST 7 EVENTS]", "# tracer: hwlat", " a-1 [001] d... 6.1: #1 inner/outer(us): x/1 ts:1"]
        {
            assert_eq!(gap(other), None, "{other}");
        }
    }

    #[test]
    fn a_mask_has_one_bit_in_groups_of_32() {
        assert_eq!(
            [0, 5, 31, 32, 70].map(|cpu| Mask(cpu).to_string()),
            ["1", "20", "80000000", "1,00000000", "40,00000000,00000000"]
        );
    }

    /// Plain files in place of the kernel's.
    fn lay(folder: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
            fs::write(folder.join(file), text).unwrap();
        }
    }

    #[test]
    fn the_sampling_is_the_kernels_and_a_kernel_without_the_tracer_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let of = |files: &[(&str, &str)]| {
            lay(folder.path(), files);
            Sampling::of(&Tracefs::of_files(folder.path().into()))
        };
        let error = of(&[("available_tracers", "blk function nop\n")]).unwrap_err().to_string();
        assert!(error.contains("CONFIG_HWLAT_TRACER"), "{error}");
        let usual = of(&[("available_tracers", "hwlat blk function nop\n"), ("tracing_thresh", "0\n")]).unwrap();
        assert_eq!((usual.width_ns, usual.window_ns, usual.threshold_ns), (500_000_000, 1_000_000_000, 10_000));
        let set = of(&[("hwlat_detector/width", "250000\n"), ("tracing_thresh", "7\n")]).unwrap();
        assert_eq!((set.width_ns, set.window_ns, set.threshold_ns), (250_000_000, 1_000_000_000, 7_000));
    }

    #[test]
    fn gaps_of_a_modelled_tracer_are_recorded_and_it_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        lay(folder.path(), &[("trace_pipe", LINES)]);
        let sampling = Sampling { width_ns: 250_000_000, window_ns: 1_000_000_000, threshold_ns: 10_000 };
        let tracer = Tracer::start_in(Instance::of_files(folder.path().into()), 1, 15_000, sampling).unwrap();
        let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(["current_tracer", "tracing_cpumask", "trace_clock"].map(read), ["hwlat", "2", "mono"]);

        let (stop, mut look, not_masked) = (AtomicBool::new(false), |_: &Live| {}, AtomicU64::new(0));
        let mut observer = Observer::new(&stop, &mut look);
        let limits = Limits { outlier_ns: 1_000_000, ..Limits::new(Length::Count(1)) };
        let prepare = |_: &_| Ok(Hwlat { tracer, not_masked: &not_masked });
        let series = session::run("hwlat", Placement::stock(), limits, prepare, &mut observer).unwrap();
        // One is shorter than asked for, one is an interrupt's that cannot be held off.
        assert_eq!((series.latency.count(), series.latency.max_ns, series.outlier_count), (1, Some(2_152_000), 1));
        assert_eq!((series.settings.cpu, series.settings.spin_duty), (Some(1), Some(0.25)));
        assert_eq!(series.settings.shortest_ns, Some(15_000));
        assert_eq!((not_masked.load(Relaxed), read("current_tracer").as_str()), (1, "nop"));
    }
}
