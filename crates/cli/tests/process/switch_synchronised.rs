//! `ontick switch run` says whether the machine has its network's time, as the machine's ptp4l has it, and asks that itself.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use serde_json::Value;

use super::network_time::{NETWORK, cable};
use super::put_back::RevertSwitches;
use super::switch_user::descendants;
use super::{Running, alone_on_this_machine, ansible, has, ontick, wait_until};

#[test]
fn a_ptp4l_that_comes_ends_and_comes_back_is_said_and_no_program_is_started_for_it() {
    if !has("ip") || !has("tc") {
        return;
    }
    let Some(cable) = cable(NETWORK) else { return };
    let _alone = alone_on_this_machine();
    let [file, said, state, sockets] = ["cell.toml", "said", "state", "ptp"].map(|name| cable.folder.path().join(name));
    for n in 0..2 {
        cable.a.join(&format!("port{n}"), &cable.b, &format!("far{n}")).unwrap();
    }
    fs::write(&file, ansible::switch("port1")).unwrap();
    symlink("sockets", sockets).unwrap();
    let command = |words: &[&str]| ontick(&[&["switch"], words, &["--state", state.to_str().unwrap()]].concat());
    let report = || {
        let output = cable.a.within(|| command(&["status", "--json"]).output()).unwrap().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()["report"].clone()
    };
    let mut run = command(&["run", file.to_str().unwrap()]);
    run.stderr(File::create(&said).unwrap());
    let _back = RevertSwitches { here: &cable.a, state: &state };
    let run = Running(cable.a.within(|| run.spawn()).unwrap().unwrap());
    let times = |words: &str| fs::read_to_string(&said).unwrap().matches(words).count();
    wait_until("the switch to work", || report().is_object());
    let below = || descendants(run.0.id() as i32);
    let before = below();

    for round in 1..=2 {
        let mut master = cable.start("a", "network.toml");
        master.event("grandmaster");
        let mut seen = Vec::new();
        wait_until("the switch to hear of it", || {
            seen.extend(below());
            times("the clock is in time with the network's") == round
        });
        seen.retain(|pid| !before.contains(pid));
        assert!(seen.is_empty(), "beside what was there from the beginning (its guardian): {seen:?}");
        // Killed, it takes its ptp4l along.
        drop(master);
        wait_until("the switch to miss it", || times("ptp4l does not answer any more") == round);
    }
}
