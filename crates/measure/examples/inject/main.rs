//! Makes faults, measures beside them, and shows for how many of the outliers that each fault made it is named:
//! `sudo cargo run --release -p ontick-measure --example inject [CPU] [FAULT …]`.
//!
//! Exit status: 0 if each is named for 95 % or more, 1 if one is not, 2 if it could not be done.

mod faults;

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use faults::Fault;
use faults::truth::{Attributed, Making, made as made_by};
use ontick_record::run::Series;
use ontick_rt::cpus;
use rustix::process::Pid;

/// Under the ten seconds after which the watchdog ends a loop that never rests.
const LENGTH: Duration = Duration::from_secs(8);
/// Tells the child whom the parent stops.
const CHILD: &str = "stopped-child";
/// The share that must be named, in percent.
const WANTED: f64 = 95.0;

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let cpu = asked.iter().find_map(|a| a.parse().ok()).unwrap_or_else(cpus::preferred);
    if asked.first().is_some_and(|first| first == CHILD) {
        let (series, _) = Fault::Stop.measure(cpu, LENGTH);
        println!("{}", serde_json::to_string(&series).expect("a series is JSON"));
        return ExitCode::SUCCESS;
    }
    if !rustix::process::getuid().is_root() || cpus::online().len() < 2 {
        eprintln!("inject: needs root and two CPUs");
        return ExitCode::from(2);
    }
    let named = Fault::ALL.into_iter().filter(|fault| asked.iter().any(|a| a == fault.name()));
    let chosen = if named.clone().count() == 0 { Fault::ALL.to_vec() } else { named.collect() };
    println!("| fault | times made | outliers made by it | named rightly | share | other names |");
    println!("|---|---:|---:|---:|---:|---|");
    let mut reached = true;
    for fault in chosen {
        let (mut made, mut times) = (Attributed::default(), 0);
        for _ in 0..rounds(fault) {
            let (series, makings) = match fault {
                Fault::Stop => stopped(cpu),
                other => other.measure(cpu, LENGTH),
            };
            if series.tracing.is_none() {
                eprintln!("inject: the kernel's tracing cannot be used here");
                return ExitCode::from(2);
            }
            if std::env::var_os("INJECT_TELL").is_some() {
                tell(fault, &series, &makings);
            }
            complain_of_loss(fault, &series);
            made.add(made_by(&series, &makings));
            times += makings.len();
        }
        reached &= row(fault, times, &made) >= WANTED;
    }
    ExitCode::from(u8::from(!reached))
}

/// The fair server has its turn once a second.
fn rounds(fault: Fault) -> u32 {
    if fault == Fault::Hog { 3 } else { 1 }
}

/// Shows a row; returns the share that was named rightly, in percent.
fn row(fault: Fault, times: usize, made: &Attributed) -> f64 {
    let (right, wrong): (Vec<_>, Vec<_>) = made.causes.iter().partition(|(c, d, _)| fault.is_named_by(c, d));
    let right: u64 = right.iter().map(|(_, _, count)| count).sum();
    let share = right as f64 / made.all.max(1) as f64 * 100.0;
    let other =
        |(cause, detail, count): &(String, String, u64)| format!("{} {count}", format!("{cause} {detail}").trim());
    let others =
        if wrong.is_empty() { "none".into() } else { wrong.into_iter().map(other).collect::<Vec<_>>().join(", ") };
    println!("| {} | {times} | {} | {right} | {share:.1} % | {others} |", fault.name(), made.all);
    share
}

fn complain_of_loss(fault: Fault, series: &Series) {
    let dropped = series.outlier_count - series.outliers.len() as u64;
    if dropped > 0 {
        eprintln!(
            "inject: {}: of {} outliers the {dropped} smallest were not kept",
            fault.name(),
            series.outlier_count
        );
    }
}

/// The largest outliers that were given other names, with what happened.
fn tell(fault: Fault, series: &Series, makings: &[Making]) {
    let mut lengths: Vec<u64> = makings.iter().map(|m| m.to_ns - m.from_ns).collect();
    lengths.sort_unstable();
    eprintln!(
        "{}: {} outliers, makings took {:?} ns",
        fault.name(),
        series.outlier_count,
        [10, 50, 90].map(|p| lengths.get(lengths.len() * p / 100))
    );
    for cause in &series.causes {
        eprintln!("  {:>6} {} {} p50 {}", cause.count, cause.cause, cause.detail, cause.p50_ns);
    }
    let wrong = series.explained.iter().filter(|e| !fault.is_named_by(&e.cause, &e.detail));
    for explained in wrong {
        eprintln!("    {} ns late: {} {}", explained.latency_ns, explained.cause, explained.detail);
        for h in explained.happened.iter().rev().take(14).rev() {
            eprintln!("      {:>10.1} {:>9.1}  {}", h.from_ns as f64 / 1e3, h.length_ns as f64 / 1e3, h.what);
        }
    }
}

/// Measures in a child that is stopped now and then.
fn stopped(cpu: u32) -> (Series, Vec<Making>) {
    let program = std::env::current_exe().expect("this program's path");
    let child =
        Command::new(program).arg(CHILD).arg(cpu.to_string()).stdout(Stdio::piped()).spawn().expect("the child starts");
    let pid = Pid::from_raw(child.id() as i32).expect("a process id");
    let makings = faults::stop(pid, Duration::from_secs(2), 60);
    let output = child.wait_with_output().expect("the child ends");
    (serde_json::from_slice(&output.stdout).expect("the child prints a series"), makings)
}
