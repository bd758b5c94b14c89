//! What stands in the way is said before anything is changed.

use std::fs;

use ontick_gpio::OnExit;
use ontick_measure::Length;
use ontick_measure::pru::{Follower, Host, Train};

use super::machine::{FORMER, Machine, pin};
use super::player::play;
use super::results::{follower, measured, train};

fn refusal(train: &Train) -> String {
    measured(Length::Count(1), |limits, o| train.measure("pru", limits, o)).0.unwrap_err().to_string()
}

fn says(machine: &Machine, train: &Train, words: &[&str]) {
    let error = refusal(train);
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
    let is = (machine.state(0), machine.firmware(0), machine.installed());
    assert_eq!(is, ("offline".to_string(), FORMER.to_string(), vec![FORMER.to_string()]), "{error}");
}

#[test]
fn machines_without_a_pru() {
    let machine = Machine::new(play);
    fs::write(machine.path("proc/device-tree/compatible"), b"raspberrypi,5-model-b\0brcm,bcm2712\0").unwrap();
    fs::write(machine.path("proc/device-tree/model"), b"Raspberry Pi 5 Model B Rev 1.0\0").unwrap();
    says(&machine, &train(&machine), &["Raspberry Pi 5", "PIO", "RP1", "not drive yet"]);
    fs::write(machine.path("proc/device-tree/compatible"), b"raspberrypi,4-model-b\0brcm,bcm2711\0").unwrap();
    says(&machine, &train(&machine), &["BeagleBone"]);
    fs::remove_dir_all(machine.path("proc")).unwrap();
    says(&machine, &train(&machine), &["BeagleBone", "no device tree"]);
}

#[test]
fn machines_whose_pru_is_off() {
    let machine = Machine::new(play);
    fs::write(machine.path("sys/class/remoteproc/remoteproc1/name"), "something\n").unwrap();
    says(&machine, &train(&machine), &["PRU 0", "4a334000.pru", "pru_rproc", "docs/pru.md"]);
}

#[test]
fn firmware() {
    let machine = Machine::new(play);
    let train = train(&machine);
    let built = machine.path("built/ontick-pulse-pru0.elf");
    // The kernel must not be given what is not the PRU's.
    fs::write(&built, b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x28\0").unwrap();
    says(&machine, &train, &["no program of a PRU", "ontick-pulse-pru0.elf"]);
    fs::remove_file(&built).unwrap();
    says(&machine, &train, &["cannot be read", "ontick-pulse-pru0.elf"]);
    let mut anywhere = train.clone();
    anywhere.output.host = Host { firmware: None, ..machine.host() };
    // Of those that were built beside the test's own program, if any, nothing is to be found.
    anywhere.output.pin = pin("P8_45");
    if super::simulated::built("firmware").is_none() {
        says(&machine, &anywhere, &["packaging/pru-tools && make -C pru", "name that folder"]);
    }
}

#[test]
fn an_installed_file_that_differs_is_not_overwritten() {
    let machine = Machine::new(play);
    let placed = machine.path("lib/firmware/ontick-pulse-pru0.elf");
    fs::write(&placed, "mine").unwrap();
    let error = refusal(&train(&machine));
    assert!(error.contains("another file") && fs::read(&placed).unwrap() == b"mine", "{error}");
    fs::remove_file(&placed).unwrap();
}

#[test]
fn pins_that_are_not_the_prus() {
    let machine = Machine::new(play);
    let on = |name| {
        let mut train = train(&machine);
        train.output.pin = pin(name);
        train
    };
    says(&machine, &on("P9_30"), &["P9_30", "mode 7", "config-pin P9_30 pruout", "mode 5"]);
    says(&machine, &on("P8_16"), &["P8_16", "cannot be driven"]);
    // Set to be an input of the PRU, with and without its receiver.
    let mut following = follower(&machine);
    following.input = pin("P9_28");
    let error = measured(Length::Count(1), |l, o| following.measure("pru", l, o)).0.unwrap_err().to_string();
    assert!(error.contains("its receiver is off") && error.contains("pruin"), "{error}");
    following.input = pin("P8_45");
    let error = measured(Length::Count(1), |l, o| following.measure("pru", l, o)).0.unwrap_err().to_string();
    assert!(error.contains("PRU 1") && error.contains("one PRU must have both"), "{error}");

    // Where nobody can tell, a sentence stands beside the figures.
    fs::remove_dir_all(machine.path("sys/kernel")).unwrap();
    let (series, notes) = measured(Length::Count(1), |limits, o| train(&machine).measure("pru", limits, o));
    assert_eq!(series.unwrap().latency.count(), 1);
    assert!(notes.iter().any(|note| note.contains("P9_31") && note.contains("debug/pinctrl")), "{notes:?}");
}

#[test]
fn parameters() {
    let machine = Machine::new(play);
    let good = train(&machine);
    for (train, words) in [
        (Train { width_ns: 19, ..good.clone() }, "from 20ns to 1s"),
        (Train { width_ns: 1_000_000_001, ..good.clone() }, "from 20ns to 1s"),
        (Train { gap_ns: 599, ..good.clone() }, "from 600ns to 1s"),
        (Train { on_exit: OnExit::Input, ..good.clone() }, "let go"),
    ] {
        says(&machine, &train, &[words]);
    }
    let narrowest = Train { width_ns: 20, gap_ns: 600, ..good };
    let (series, _) = measured(Length::Count(5), |limits, o| narrowest.measure("pru", limits, o));
    assert_eq!(series.unwrap().pulse.unwrap().width.min_ns, Some(20));
}

#[test]
fn a_pin_that_answers_is_left_low_or_high() {
    let machine = Machine::new(play);
    for (on_exit, words) in [(OnExit::Keep, "brings its pin to a level at the end"), (OnExit::Input, "let go")] {
        let following = Follower { on_exit, ..follower(&machine) };
        let error = measured(Length::Count(1), |l, o| following.measure("pru", l, o)).0.unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("leave it low or high"), "{error}");
    }
}

#[test]
fn a_pru_that_another_ontick_has() {
    let machine = Machine::new(play);
    machine.set(0, "firmware", "ontick-pulse-pru0.elf");
    machine.set(0, "state", "running");
    let error = refusal(&train(&machine));
    assert!(error.contains("another ontick") && error.contains("echo stop"), "{error}");
    assert_eq!(machine.state(0), "running");
    machine.set(0, "state", "offline");
}
