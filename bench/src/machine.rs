//! What the bench ran on, and with which programs.

use std::process::Command;
use std::time::{Duration, Instant};

use ontick_machine::{Facts, Root};
use ontick_measure::conditions::CpuTimes;

use crate::page::Table;
use crate::side::Job;

/// Idle time is counted this long; the kernel counts it in steps of 10 ms.
const IDLE: Duration = Duration::from_secs(1);

/// Date, machine and versions.
pub fn table(job: &Job) -> Result<Table, String> {
    let machine = Facts::gather(&Root::live()).environment(Some(job.cpu));
    let or_none = |text: &str| if text.is_empty() { "none".to_string() } else { text.to_string() };
    let mut table = Table::of_words(&["", "measured on"]);
    let mut row = |what: &str, value: String| table.row([what.to_string(), value]);
    row("date", ontick_record::date::now());
    row("machine", or_none(&machine.machine));
    row("processor", format!("{}, {} CPUs", or_none(&machine.processor), machine.cpus_online));
    row("hypervisor", or_none(&machine.hypervisor));
    row("kernel", format!("{}, preemption {}", machine.kernel, machine.preemption));
    row("clock source", or_none(&machine.clocksource));
    row("isolated CPUs", or_none(&machine.isolated));
    row("real-time runtime / period", machine.rt_throttling.clone());
    row("system", machine.system.clone());
    row("idle before the first block", format!("{:.0} % of all CPUs", idle_share(machine.cpus_online) * 100.0));
    row("ontick", version(&job.ontick.display().to_string(), "--version")?);
    row("cyclictest", version("cyclictest", "--help")?);
    row("jitterdebugger", version("jitterdebugger", "--version")?);
    row("stress-ng", version("stress-ng", "--version")?);
    Ok(table)
}

/// How idle the machine is before the bench begins: other work would be measured too.
fn idle_share(cpus: u32) -> f64 {
    let (began, before) = (Instant::now(), CpuTimes::now());
    std::thread::sleep(IDLE);
    let idle_ns = CpuTimes::now().idle_ns.saturating_sub(before.idle_ns);
    (idle_ns as f64 / (began.elapsed().as_nanos() as f64 * f64::from(cpus.max(1)))).min(1.0)
}

/// The first line that a program prints about itself, on whichever output and with whichever status.
fn version(program: &str, option: &str) -> Result<String, String> {
    let missing = |e| format!("{program}: {e} (packaging/needs bench installs the peers)");
    let output = Command::new(program).arg(option).output().map_err(missing)?;
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&said).lines().next().unwrap_or("unknown").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        assert!(version("/no/such/program", "--version").unwrap_err().starts_with("/no/such/program"));
    }
}
