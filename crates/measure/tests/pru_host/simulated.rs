//! Host and firmware together: the real firmware in the simulator, behind the RAM that both share.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

use ontick_measure::pru::Host;
use ontick_measure::pru::layout::{SHARED_BYTES, SHARED_LOCAL};
use ontick_measure::{Length, Limits, Live, Observer};

use super::machine::Machine;
use super::results::{measured, train};

/// Where `packaging/pru-tools` and `make -C pru` leave what they make.
pub fn built(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/pru")).join(path);
    path.exists().then_some(path)
}

/// Runs the firmware that the kernel was given, in the simulator, until the PRU is stopped.
fn simulate(root: &Path, _: u32, firmware: &str, alive: &AtomicBool) {
    // Memory from 0 on would be one piece otherwise, and hide the shared one.
    let control = SHARED_LOCAL + SHARED_BYTES as u32;
    let mut simulator = Command::new(built("bin/pru-elf-run").unwrap())
        .args(["--memory-region", &format!("0,{SHARED_LOCAL:#x}")])
        .args(["--memory-mapfile", root.join("dev/mem").to_str().unwrap()])
        .args(["--memory-region", &format!("{SHARED_LOCAL:#x},{SHARED_BYTES:#x}")])
        .args(["--memory-region", &format!("{control:#x},0x20000")])
        .arg(root.join("lib/firmware").join(firmware))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while alive.load(Relaxed) {
        sleep(Duration::from_millis(1));
    }
    let _ = simulator.kill();
    simulator.wait().unwrap();
}

#[test]
fn the_real_firmware_makes_what_the_host_asks_for() {
    let (Some(_), Some(firmware)) = (built("bin/pru-elf-run"), built("firmware/ontick-pulse-pru0.elf")) else {
        ontick_skip::skipped!("packaging/pru-tools and make -C pru build what this needs");
        return;
    };
    let machine = Machine::new(simulate);
    let mut train = train(&machine);
    train.output.host = Host { firmware: Some(firmware.parent().unwrap().into()), ..machine.host() };
    for (width_ns, count) in [(20, 200), (25, 200), (10_000, 50), (100_000, 7)] {
        (train.width_ns, train.gap_ns) = (width_ns, 1_000);
        let (series, notes) = measured(Length::Count(count), |limits, o| train.measure("pru", limits, o));
        let (series, none) = (series.unwrap(), Vec::<String>::new());
        let width = series.pulse.unwrap().width;
        assert_eq!((width.count(), width.min_ns, width.max_ns), (count, Some(width_ns), Some(width_ns)));
        assert_eq!((series.latency.max_ns, series.missed, notes), (Some(0), 0, none));
        // The next must not come before the modelled kernel has seen this one's end.
        machine.comes_to(0, "offline");
    }
    // One that has no end is stopped by the host, once there is something to be seen.
    train.gap_ns = 600;
    let stop = AtomicBool::new(false);
    let mut look = |live: &Live| stop.store(live.latency.count() > 0, Relaxed);
    let limits = Limits::new(Length::Duration(u64::MAX));
    let series = train.measure("pru", limits, &mut Observer::new(&stop, &mut look)).unwrap();
    assert!(series.latency.count() > 0 && series.latency.max_ns == Some(0));
    machine.comes_to(0, "offline");
    assert_eq!(machine.installed().len(), 1);
}
