//! However a run ends, the PRU is as it was.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ontick_measure::Length;
use ontick_measure::pru::Host;
use ontick_measure::pru::layout::{at, state};

use super::machine::{FORMER, Machine};
use super::player::{Block, PLAYED_OUTPUT, play, play_another_version, play_dead};
use super::results::{measured, train};

/// The machine's folder, for the process that is killed.
const KILLED: &str = "ONTICK_PRU_KILLED";

/// Not a test of its own: what [`a_killed_run_is_put_back`] starts and kills.
#[test]
fn runs_until_it_is_killed() {
    let Some(root) = std::env::var_os(KILLED) else { return };
    let host = Host { root: root.clone().into(), firmware: Some(std::path::Path::new(&root).join("built")) };
    let output = ontick_measure::pru::Output { pin: "P9_31".parse().unwrap(), host };
    let train =
        ontick_measure::pru::Train { output, width_ns: 100_000, gap_ns: 1_000_000, on_exit: ontick_gpio::OnExit::Low };
    let (series, _) = measured(Length::Duration(u64::MAX), |limits, o| train.measure("pru", limits, o));
    panic!("it ended by itself: {series:?}");
}

#[test]
fn a_killed_run_is_put_back() {
    let machine = Machine::new(play);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "given_back::runs_until_it_is_killed"])
        .env(KILLED, machine.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let block = Block::open(&machine.path(""), 0);
    let began = Instant::now();
    while block.get(at::STATE) != state::RUNNING || block.get(at::DONE) == 0 {
        assert!(began.elapsed() < Duration::from_secs(30) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    machine.comes_to(0, "offline");
    // The guard goes on after that.
    let began = Instant::now();
    while machine.installed().len() > 1 || machine.firmware(0) != FORMER {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", machine.installed());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((block.get(PLAYED_OUTPUT), block.get(at::STATE)), (0, state::IDLE), "its line is at rest");
}

#[test]
fn what_ran_before_runs_again() {
    let machine = Machine::new(play);
    machine.set(0, "state", "start");
    machine.comes_to(0, "running");
    let (series, notes) = measured(Length::Count(10), |limits, o| train(&machine).measure("pru", limits, o));
    assert_eq!((series.unwrap().latency.count(), notes), (10, Vec::new()));
    machine.comes_to(0, "running");
    assert_eq!((machine.firmware(0).as_str(), machine.installed().len()), (FORMER, 1));
    assert_eq!(
        (machine.state(1).as_str(), machine.firmware(1).as_str()),
        ("offline", FORMER),
        "the other was let alone"
    );
}

#[test]
fn a_counted_run_ends_when_somebody_else_stops_the_pru() {
    let machine = Machine::new(play);
    let block = Block::open(&machine.path(""), 0);
    let began = Instant::now();
    let (series, notes) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while machine.state(0) != "running" {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(300));
            machine.set(0, "state", "stop");
        });
        measured(Length::Count(1_000_000_000), |limits, o| train(&machine).measure("pru", limits, o))
    });
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    // It may be seen a moment before the PRU stands still.
    let count = series.unwrap().latency.count();
    assert!(count > 0 && count <= u64::from(block.get(at::DONE)), "{count}");
    assert!(notes.iter().any(|note| note.contains("somebody else stopped it")), "{notes:?}");
    assert_eq!((machine.firmware(0).as_str(), machine.installed().len()), (FORMER, 1));
}

#[test]
fn firmware_that_was_installed_stays() {
    let machine = Machine::new(play);
    let name = "ontick-pulse-pru0.elf";
    fs::copy(machine.path("built").join(name), machine.path("lib/firmware").join(name)).unwrap();
    let host = Host { firmware: None, ..machine.host() };
    let mut train = train(&machine);
    train.output.host = host;
    let (series, _) = measured(Length::Count(10), |limits, o| train.measure("pru", limits, o));
    assert_eq!(series.unwrap().latency.count(), 10);
    assert_eq!(machine.installed(), [FORMER, name]);
}

#[test]
fn a_firmware_that_does_not_fit_is_reported_and_taken_away() {
    for (player, says) in
        [(play_another_version as super::machine::Player, "another version"), (play_dead, "did not answer")]
    {
        let machine = Machine::new(player);
        let (series, _) = measured(Length::Count(10), |limits, o| train(&machine).measure("pru", limits, o));
        let error = series.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        machine.comes_to(0, "offline");
        assert_eq!((machine.firmware(0).as_str(), machine.installed().len()), (FORMER, 1));
    }
}

/// What cannot be put back is said, and the rest is put back all the same.
#[test]
fn what_cannot_be_put_back_is_said() {
    // Where it was gone too soon, that is an error of its own.
    assert!((0..20).any(|_| is_measured_without_its_firmware()), "it was gone too soon each time");
}

/// Whether a train was measured whose firmware is removed meanwhile.
fn is_measured_without_its_firmware() -> bool {
    let machine = Machine::new(play);
    let placed = machine.path("lib/firmware/ontick-pulse-pru0.elf");
    let (series, notes) = measured(Length::Count(20_000), |limits, o| {
        let removes = std::thread::spawn({
            let placed = placed.clone();
            move || {
                while fs::remove_file(&placed).is_err() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        // The kernel has read it once the PRU runs; here it must be there until then.
        let measured = train(&machine).measure("pru", limits, o);
        removes.join().unwrap();
        measured
    });
    let is_said = notes.iter().any(|note| note.contains("/lib/firmware/ontick-"));
    assert!(series.is_err() || is_said, "{notes:?}");
    machine.comes_to(0, "offline");
    assert_eq!(machine.firmware(0), FORMER);
    series.is_ok()
}
