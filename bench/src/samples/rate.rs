//! `ontick sample` at a rate, with four clients at a time that keep up: two over TCP, one over a UNIX socket, a file.

use std::fs::File;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use ontick_measure::avoid_cpu::AvoidCpu;
use ontick_record::run::{Cause, Series};
use ontick_record::{Run, compare, store};
use ontick_units::show;

use super::client::Got;
use super::missed::Missed;
use crate::child::{self, Running, Words};
use crate::page::Table;
use crate::show::percent_down;
use crate::side::Job;

/// The clients, in the order of `clients`.
pub const CLIENTS: [&str; 4] = ["TCP binary", "TCP CSV", "UNIX binary", "file"];
/// How long the program may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often each cause was.
pub type Counted = Vec<(String, u64)>;

/// One rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The rate, in kHz.
    pub khz: u64,
    /// Samples taken.
    pub samples: u64,
    /// Slots missed.
    pub missed: Missed,
    /// Median and 99th percentile of the time from the deadline to the sample, in ns.
    pub p50_ns: u64,
    /// See `p50_ns`.
    pub p99_ns: u64,
    /// Share of all slots that were sampled within 3 µs, 0 to 1.
    pub in_time: f64,
    /// Samples that came later than a period, and how many of them have a cause that `--explain` names; `None` where
    /// the kernel's tracing could not be used.
    pub late: (u64, Option<u64>),
    /// Causes of those, the most frequent first.
    pub causes: Counted,
    /// Steal on all CPUs, in ns.
    pub steal_ns: u64,
    /// What the program said about its ring.
    pub ring: String,
    /// For each client, samples that were lost between the core and it.
    pub lost: [u64; 4],
    /// For each client, numbers left out without a word, and time stamps that are wrong.
    pub unsound: [u64; 4],
}

/// The command for one rate.
pub fn command(job: &Job, khz: u64, seconds: u64, folder: &Path) -> Words {
    let (cpu, priority, folder, period_us) = (job.cpu, job.priority, folder.display(), 1_000 / khz);
    let line = format!(
        "sample --rate {khz}kHz --source wave:sine,50Hz --to tcp:127.0.0.1:0,format=binary \
         --to tcp:127.0.0.1:0,format=csv --to unix:{folder}/socket,format=binary --to file:{folder}/samples.ontick \
         --duration {seconds}s --cpu {cpu} --policy fifo:{priority} --explain --outlier-threshold {period_us}us --json"
    );
    job.command(&line)
}

/// Samples at one rate for so long.
pub fn measure(job: &Job, khz: u64, seconds: u64) -> Result<Figures, String> {
    let folder = tempfile::Builder::new().prefix("ontick-bench-").tempdir();
    let folder = folder.map_err(|e| format!("no folder for samples: {e} (set TMPDIR)"))?;
    // The clients inherit it: they must not run where samples are taken.
    let _avoided = AvoidCpu::from(job.cpu);
    let period_ns = 1_000_000 / khz;
    let mut running = child::start(&command(job, khz, seconds, folder.path()))?;
    let [binary, csv] = addresses(&mut running)?;
    let (finished, [a, b, c]) = std::thread::scope(|scope| {
        let tcp = |address: &str| TcpStream::connect(address).map_err(|e| format!("{address}: {e}"));
        let unix = UnixStream::connect(folder.path().join("socket")).map_err(|e| format!("the socket: {e}"))?;
        let (binary, csv) = (tcp(&binary)?, tcp(&csv)?);
        let clients = [
            scope.spawn(move || Got::binary(binary, period_ns)),
            scope.spawn(move || Got::csv(csv, period_ns)),
            scope.spawn(move || Got::binary(unix, period_ns)),
        ];
        let finished = running.finish()?;
        let [a, b, c] = clients.map(|client| client.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        Ok::<_, String>((finished, [a?, b?, c?]))
    })?;
    let file = File::open(folder.path().join("samples.ontick")).map_err(|e| format!("the samples' file: {e}"))?;
    let clients = [a, b, c, Got::binary(file, period_ns)?];
    let run = store::parse(&finished.stdout).map_err(|e| format!("ontick's result: {e}"))?;
    seen(khz, &run, &clients)
}

/// Where the two TCP listeners listen.
fn addresses(running: &mut Running) -> Result<[String; 2], String> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let said = running.said()?;
        // The socket's line is the last.
        if said.contains("listening on unix ") {
            let mut found = said.lines().filter_map(|line| line.strip_prefix("listening on tcp ")).map(String::from);
            return found.next().zip(found.next()).map(Into::into).ok_or("it does not say where it listens".into());
        }
        if running.has_ended()? {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(format!("ontick sample does not listen: {}", running.said()?.trim()))
}

fn seen(khz: u64, run: &Run, clients: &[Got; 4]) -> Result<Figures, String> {
    let series = run.series.first().ok_or("ontick's result has no series")?;
    let of = |q| series.latency.quantile(q).ok_or("ontick took no sample");
    let samples = series.latency.count();
    let file = &clients[3];
    // A client that joined late is owed what came from then on.
    let owed = |client: &Got| client.first.map_or(samples, |first| samples.saturating_sub(file.before(first)));
    let (late, causes) = late(series);
    let ring = run.notes.iter().find_map(|note| note.split("never fuller than ").nth(1)).unwrap_or("—");
    Ok(Figures {
        khz,
        samples,
        missed: Missed::in_series(series, 1_000_000 / khz),
        p50_ns: of(0.5)?,
        p99_ns: of(0.99)?,
        in_time: series.share_in_time(compare::LIMIT_NS),
        late,
        causes,
        steal_ns: series.conditions.steal_ns,
        ring: ring.into(),
        lost: std::array::from_fn(|n| owed(&clients[n]).abs_diff(clients[n].samples)),
        unsound: std::array::from_fn(|n| clients[n].untold + clients[n].wrong_times),
    })
}

/// Samples later than a period, which are the run's outliers, how many of them have a named cause, and which.
fn late(series: &Series) -> ((u64, Option<u64>), Counted) {
    let named: u64 = series.causes.iter().filter(|cause| cause.cause != "unknown").map(|cause| cause.count).sum();
    let name = |cause: &Cause| match cause.cause.as_str() {
        "unknown" => format!("unknown ({})", cause.detail),
        name => name.into(),
    };
    let mut causes = Counted::new();
    for cause in &series.causes {
        match causes.iter_mut().find(|(known, _)| *known == name(cause)) {
            Some((_, count)) => *count += cause.count,
            None => causes.push((name(cause), cause.count)),
        }
    }
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ((series.outlier_count, series.tracing.map(|_| named)), causes)
}

/// Whose figures stand beside the rates.
pub fn table(all: &[Figures]) -> Table {
    let mut table = Table::new(&[
        "rate",
        "samples",
        "slots missed",
        "of these, hypervisor away",
        "p50",
        "p99",
        "< 3us",
        "lost: TCP binary, TCP CSV, UNIX, file",
        "later than a period (named)",
        "steal",
        "ring at most",
    ]);
    for seen in all {
        let (late, named) = seen.late;
        table.row([
            format!("{} kHz", seen.khz),
            seen.samples.to_string(),
            seen.missed.all.to_string(),
            seen.missed.away_text(),
            show(seen.p50_ns),
            show(seen.p99_ns),
            percent_down(seen.in_time),
            seen.lost.map(|lost| lost.to_string()).join(", "),
            format!("{late} ({})", named.map_or("—".into(), |named| named.to_string())),
            format!("{}ms", seen.steal_ns / 1_000_000),
            seen.ring.clone(),
        ]);
    }
    table
}

/// What made samples later than a period, at each rate.
pub fn causes(all: &[Figures]) -> Table {
    let mut table = Table::of_words(&["rate", "causes of samples later than a period"]);
    for seen in all {
        let named: Vec<String> = seen.causes.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
        table.row([format!("{} kHz", seen.khz), if named.is_empty() { "—".into() } else { named.join(", ") }]);
    }
    table
}

#[cfg(test)]
pub mod tests {
    use ontick_record::run::Tracing;

    use super::*;

    pub fn seen_of(khz: u64, lost: u64, late: (u64, Option<u64>), in_time: f64) -> Figures {
        let (lost, unsound) = ([0, lost, 0, 0], [0; 4]);
        let (ring, causes) = ("0.1 %".into(), Vec::new());
        Figures {
            khz,
            samples: 100,
            missed: Missed { slots: 100, all: 0, away: Some(0) },
            p50_ns: 1,
            p99_ns: 2,
            in_time,
            late,
            causes,
            steal_ns: 0,
            ring,
            lost,
            unsound,
        }
    }

    fn series() -> Series {
        let cause = |name: &str, detail: &str, count| Cause {
            cause: name.into(),
            detail: detail.into(),
            count,
            ..Cause::default()
        };
        let mut series = Series {
            outlier_count: 9,
            causes: vec![cause("softirq", "RCU", 1), cause("unknown", "lost", 3), cause("softirq", "NET_RX", 4)],
            tracing: Some(Tracing::default()),
            ..Series::default()
        };
        series.latency.add(100, 1, 10);
        series
    }

    #[test]
    fn late_samples_are_counted_and_named() {
        // The cause of one was not looked for.
        let causes = vec![("softirq".into(), 5), ("unknown (lost)".into(), 3)];
        assert_eq!(late(&series()), ((9, Some(5)), causes));
        assert_eq!(late(&Series { tracing: None, ..series() }).0, (9, None));
    }

    #[test]
    fn a_client_that_lost_samples_is_seen() {
        let run = Run { series: vec![series()], ..Run::new("", "sample") };
        let lines = |numbers: std::ops::Range<u64>| -> Got {
            let text: String = numbers.map(|n| format!("{n},{0},{0},0,1\n", 1_000_000 * (n + 1))).collect();
            Got::csv(text.as_bytes(), 1_000_000).unwrap()
        };
        // One came for the fourth sample, one lost the last, one all.
        let clients = [lines(3..10), lines(0..9), Got::default(), lines(0..10)];
        let seen = seen(1, &run, &clients).unwrap();
        assert_eq!((seen.lost, seen.unsound), ([0, 1, 10, 0], [0; 4]));
    }
}
