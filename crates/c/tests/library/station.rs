//! Programs as stations of a planned network.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};

use ontick_network::endpoint::timing;
use ontick_tsn::network;
use ontick_tsn::planning::{Document, Outcome, PlanOptions, Timetable, gate_control_list, plan};

use crate::compile::{Compiler, Linked, compile, has, printed};
use crate::staged::top;

/// A stream of one station to another, whose messages have room for 256 octets.
const NETWORK: &str = r#"
switch = [{ name = "s1" }]
station = [{ name = "a" }, { name = "b" }]
link = [{ between = ["a", "s1"] }, { between = ["s1", "b"] }]
stream = [{ name = "setpoint", from = "a", to = "b", size = 296, period = "1ms" }]
"#;

/// Writes a network and its plan, for the user data plane.
fn planned(text: &str, folder: &Path, name: &str) -> [PathBuf; 2] {
    let files = ["network.toml", "plan.json"].map(|of| folder.join(format!("{name}-{of}")));
    let network = network::read(text).unwrap().timed(timing(None, None).unwrap());
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!("there is a plan")
    };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    std::fs::write(&files[0], text).unwrap();
    std::fs::write(&files[1], Document::new(&network, &table, &schedule).write().unwrap()).unwrap();
    files
}

#[test]
fn a_station_refuses_what_does_not_fit_and_bytes_come_as_they_were_sent() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = top().join("crates/c/tests/programs/station.c");
    let program = compile(&source, Compiler::C, Linked::Shared, folder.path()).unwrap();
    let [network, plan] = planned(NETWORK, folder.path(), "own");
    let [_, other] = planned(&NETWORK.replace("296", "297"), folder.path(), "other");
    // Free now, and nobody else's a moment later but by chance.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let files = [&program, &network, &plan, &other].map(|of| of.to_str().unwrap());
    let said = printed(&[&files[..], &[&port]].concat());
    assert_eq!(said, "refused what it should, and the bytes came as they were sent\n");
}
