//! PTP through the user data plane, judged by two of linuxptp's ptp4l.
//!
//! Both have the clock of this machine, so what the one measures of the other is the network's fault alone.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use ontick_switch::verify::namespace::Namespace;

use crate::namespace::namespace;
use crate::put_back::RevertSwitches;
use crate::{Running, alone_on_this_machine, has, ontick, stderr, stdout, wait_until};

/// Frames of PTP leave for the slave once in 5 ms, and for the master at once.
const CONFIGURATION: &str = r#"
[switch]
name = "cell"
plane = "user"

[[class]]
name = "others"
queue = 0

[[class]]
name = "time"
queue = 1
match = [{ ether-type = "ptp" }]

[[port]]
name = "port0"
rate = "1Gbit"

[[port]]
name = "port1"
rate = "1Gbit"
[port.gates]
entries = [{ open = ["time", "others"], for = "200us" }, { open = ["others"], for = "4800us" }]
"#;
/// Offsets that the slave is asked for.
const OFFSETS: usize = 40;

/// A ptp4l on one interface, which sets no clock.
fn ptp4l(far: &Namespace, folder: &Path, interface: &str, role: &str) -> Child {
    let file = folder.join(format!("{interface}.conf"));
    let socket = |kind: &str| folder.join(format!("{interface}.{kind}")).display().to_string();
    // From version 4 on there is a second socket; the version before, of Debian 12, does not know its name.
    let version = Command::new("ptp4l").arg("-v").output().unwrap();
    let second =
        if stdout(&version).starts_with("3.") { String::new() } else { format!("uds_ro_address {}\n", socket("ro")) };
    let text = format!(
        "[global]\nfree_running 1\nnetwork_transport L2\ndelay_mechanism E2E\ntime_stamping software\nlogSyncInterval -4\n\
         logMinDelayReqInterval -4\nlogAnnounceInterval -2\nuds_address {}\n{second}{role}\n",
        socket("rw"),
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new("ptp4l");
    command.args(["-q", "-i", interface, "-f"]).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    far.within(|| command.spawn()).unwrap().unwrap()
}

/// The median of how far off the slave believes its clock to be, in ns.
fn median_offset_ns(transparent: bool) -> Option<i64> {
    let (here, far) = (namespace()?, namespace()?);
    for n in 0..2 {
        here.join(&format!("port{n}"), &far, &format!("far{n}")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let key = format!("name = \"cell\"\ntransparent-clock = {transparent}");
    std::fs::write(path("cell.toml"), CONFIGURATION.replace("name = \"cell\"", &key)).unwrap();
    let state = path("state");
    let _back = RevertSwitches { here: &here, state: Path::new(&state) };
    let applied = here.within(|| ontick(&["switch", "apply", &path("cell.toml"), "--state", &state]).output());
    let applied = applied.unwrap().unwrap();
    assert!(applied.status.success(), "{}", stderr(&applied));
    let _master = Running(ptp4l(&far, folder.path(), "far0", "masterOnly 1"));
    let _slave = Running(ptp4l(&far, folder.path(), "far1", "slaveOnly 1"));
    // It knows the delay of the way once it has had answers.
    wait_until("the slave follows", || asked(folder.path()).is_some_and(|(_, delay_ns)| delay_ns > 0.0));
    let mut offsets: Vec<i64> = Vec::new();
    while offsets.len() < OFFSETS {
        offsets.extend(asked(folder.path()).map(|(offset_ns, _)| offset_ns.abs() as i64));
    }
    offsets.sort_unstable();
    Some(offsets[OFFSETS / 2])
}

/// What the slave believes of its offset and of the way's delay, in ns.
fn asked(folder: &Path) -> Option<(f64, f64)> {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut pmc = Command::new("pmc");
    pmc.args(["-u", "-b", "0", "-s", &path("far1.rw"), "-i", &path("pmc"), "GET CURRENT_DATA_SET"]);
    let answer = stdout(&pmc.output().unwrap());
    let number = |name: &str| answer.split_once(name)?.1.split_whitespace().next()?.parse::<f64>().ok();
    Some((number("offsetFromMaster")?, number("meanPathDelay")?))
}

#[test]
fn a_slave_behind_a_gate_is_on_time_where_the_switch_is_a_transparent_clock() {
    if !has("ptp4l") {
        return;
    }
    let _alone = alone_on_this_machine();
    let (Some(without), Some(with)) = (median_offset_ns(false), median_offset_ns(true)) else { return };
    println!("median offset: {without} ns, with a transparent clock {with} ns");
    assert!(without > 300_000 && with < without / 4, "{without} ns, with a transparent clock {with} ns");
}
