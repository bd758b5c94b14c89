//! A cable that closes a loop while the switch works.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use super::put_back::RevertSwitches;
use super::{alone_on_this_machine, has, namespace::namespace, ontick, send, wait_until};

#[test]
fn of_a_loop_one_port_is_closed_and_opened_when_it_is_gone() {
    if !has("ip") || !has("tc") {
        return;
    }
    let _alone = alone_on_this_machine();
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 0..3 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    let outside = |words: &[&str]| far.ip(words).unwrap();
    outside(&["link", "add", "hub", "type", "bridge"]);
    outside(&["link", "set", "dev", "hub", "up"]);
    outside(&["link", "set", "dev", "far0", "master", "hub"]);
    let folder = tempfile::tempdir().unwrap();
    let (file, state) = (folder.path().join("cell.toml"), folder.path().join("state").display().to_string());
    let _as_before = RevertSwitches { here: &here, state: state.as_ref() };
    let port = |n: u32| format!("\n[[port]]\nname = \"port{n}\"\nrate = \"1Gbit\"\n");
    let ports: String = (0..3).map(port).collect();
    let head = "[switch]\nname = \"cell\"\nplane = \"user\"\nforward-reserved = [\"bpdu\"]\n\n[[class]]\nname = \"all\"\nqueue = 0\n";
    std::fs::write(&file, format!("{head}{ports}")).unwrap();

    let mut command = ontick(&["switch", "run", &file.display().to_string(), "--state", &state]);
    let mut child = here.within(|| command.stderr(Stdio::piped()).spawn()).unwrap().unwrap();
    let closed = || -> Option<Vec<bool>> {
        let status =
            here.within(|| ontick(&["switch", "status", "--json", "--state", &state]).output()).unwrap().unwrap();
        let status: Value = serde_json::from_slice(&status.stdout).ok()?;
        status["report"]["ports"].as_array()?.iter().map(|port| port["closed"].as_bool()).collect()
    };
    wait_until("the switch to work", || closed() == Some(vec![false; 3]));
    outside(&["link", "set", "dev", "far2", "master", "hub"]);
    wait_until("one port to be closed", || closed() == Some(vec![false, false, true]));
    outside(&["link", "set", "dev", "far2", "nomaster"]);
    wait_until("it to be open again", || closed() == Some(vec![false; 3]));
    send(child.id(), Signal::INT);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(said.contains("port port2: it is joined outside") && !said.contains("port port0: it is joined"), "{said}");
    assert!(said.contains("port port2: no probe comes back any more"), "{said}");
}
