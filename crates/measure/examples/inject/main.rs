//! Makes faults, measures beside them, and shows whether the named cause is the fault:
//! `sudo cargo run --release -p ontick-measure --example inject [CPU] [FAULT …]`.

mod faults;

use std::process::{Command, Stdio};
use std::time::Duration;

use faults::{Fault, Window, causes_within};
use ontick_record::run::Series;
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use rustix::process::{Pid, Signal, kill_process};

/// Under the ten seconds after which the watchdog ends a loop that never rests.
const LENGTH: Duration = Duration::from_secs(8);
/// Tells the child whom the parent stops.
const CHILD: &str = "stopped-child";

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let cpu = asked.iter().find_map(|a| a.parse().ok()).unwrap_or_else(cpus::preferred);
    if asked.first().is_some_and(|first| first == CHILD) {
        let (series, _) = Fault::Stop.measure(cpu, LENGTH);
        return println!("{}", serde_json::to_string(&series).expect("a series is JSON"));
    }
    let named = Fault::ALL.into_iter().filter(|fault| asked.iter().any(|a| a == fault.name()));
    let chosen = if named.clone().count() == 0 { Fault::ALL.to_vec() } else { named.collect() };
    for fault in chosen {
        let (series, windows) = match fault {
            Fault::Stop => stopped(cpu),
            other => other.measure(cpu, LENGTH),
        };
        show(fault, &series, &windows);
    }
}

fn show(fault: Fault, series: &Series, windows: &[Window]) {
    let causes = causes_within(series, windows);
    let all: u64 = causes.iter().map(|(_, _, count)| count).sum();
    let right: u64 = causes.iter().filter(|(c, d, _)| fault.is_named_by(c, d)).map(|(_, _, count)| count).sum();
    let share = right as f64 / all.max(1) as f64 * 100.0;
    println!("{}: {right} of {all} outliers named rightly ({share:.1} %), {} times made", fault.name(), windows.len());
    for (cause, detail, count) in causes {
        let mark = if fault.is_named_by(&cause, &detail) { "+" } else { "-" };
        println!("  {mark} {count:>6}  {cause} {detail}");
    }
    let beside = series.outliers.len() as u64 - all;
    println!("    {beside:>6}  others, not made by it (kept of {} in all)", series.outliers_seen);
    if std::env::var_os("INJECT_TELL").is_some() {
        let wrong = series.explained.iter().filter(|e| !fault.is_named_by(&e.cause, &e.detail));
        for explained in wrong.take(12) {
            println!("    {} ns late: {} {}", explained.latency_ns, explained.cause, explained.detail);
            for h in explained.happened.iter().rev().take(14).rev() {
                println!("      {:>10.1} {:>9.1}  {}", h.from_ns as f64 / 1e3, h.length_ns as f64 / 1e3, h.what);
            }
        }
    }
}

/// Measures in a child that is stopped now and then.
fn stopped(cpu: u32) -> (Series, Vec<Window>) {
    let program = std::env::current_exe().expect("this program's path");
    let child =
        Command::new(program).arg(CHILD).arg(cpu.to_string()).stdout(Stdio::piped()).spawn().expect("the child starts");
    let pid = Pid::from_raw(child.id() as i32).expect("a process id");
    let mut windows = Vec::new();
    std::thread::sleep(Duration::from_secs(2));
    for _ in 0..60 {
        std::thread::sleep(Duration::from_millis(60));
        let from = ClockId::Monotonic.now_ns();
        kill_process(pid, Signal::STOP).expect("the child is there");
        std::thread::sleep(Duration::from_millis(15));
        kill_process(pid, Signal::CONT).expect("the child is there");
        windows.push((from, ClockId::Monotonic.now_ns()));
    }
    let output = child.wait_with_output().expect("the child ends");
    (serde_json::from_slice(&output.stdout).expect("the child prints a series"), windows)
}
