//! What stops all CPUs without the kernel's knowledge, and the tracer that looks for it.

use super::{Check, CheckInput, MS, Observation, US};
use crate::facts::firmware::SmiCounter;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "firmware-interrupts",
        why: "a system management interrupt stops all CPUs until the firmware is done, and the kernel sees only a gap",
        source: "Intel SDM volume 4 (MSR_SMI_COUNT); AMD processor programming references (PMCx02B); kernel: trace/hwlat_detector",
        look: |look| firmware_interrupts(look).into_iter().collect(),
    },
    Check {
        id: "tracer",
        why: "a tracer takes time on the CPUs that it looks at; hwlat holds their interrupts off, one CPU after the other",
        source: "kernel: trace/ftrace, trace/hwlat_detector (width)",
        look: |look| tracer(look).into_iter().collect(),
    },
];

fn firmware_interrupts(look: &CheckInput) -> Option<Observation> {
    let firmware = &look.facts.firmware;
    // A guest's counter has the guest's own alone.
    if !look.facts.noise.hypervisor.is_empty() {
        return None;
    }
    let durations = match look.facts.tracing.has_hwlat {
        true => {
            "; how long each takes is shown by the tracer hwlat (rtla hwnoise, or hwlatdetect), on a machine with nothing else to do"
        }
        false => "",
    };
    let should = "a number that does not grow while timed programs run";
    Some(match (firmware.counter, firmware.smis) {
        (SmiCounter::None, _) => return None,
        (SmiCounter::Register, Some(0)) => Observation::ok("none since power-on"),
        (SmiCounter::Register, Some(count)) => Observation::warn(format!("{count} since power-on"), should).now(format!(
            "look again later; where it grows, the firmware's set-up: USB legacy support, power and heat management{durations}"
        )),
        (SmiCounter::Register, None) => Observation::unknown("their counter cannot be read here", should)
            .now(format!("modprobe msr, and look again as root{durations}")),
        (SmiCounter::PerfEvent, _) => Observation::unknown("this processor counts them by an event", should)
            .now(format!("perf stat -a -e ls_smi_rx sleep 60{durations}")),
    })
}

fn tracer(look: &CheckInput) -> Option<Observation> {
    let tracing = &look.facts.tracing;
    let off = "echo nop > /sys/kernel/tracing/current_tracer";
    Some(match tracing.current.as_str() {
        "" => return None,
        "nop" => Observation::ok("none runs"),
        "hwlat" => {
            let width_us = tracing.hwlat_width_us.unwrap_or(500_000);
            let seen = format!("hwlat runs, and holds interrupts off for {} ms at a time", width_us * US / MS);
            Observation::bad(seen, "not while timed programs run").costs(width_us * US).now(off)
        }
        other => Observation::warn(format!("{other} runs"), "not while timed programs run").now(off),
    })
}
