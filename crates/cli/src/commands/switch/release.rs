//! Ports are given up before their settings are put back.

use std::time::{Duration, Instant};

use ontick_switch::apply::SwitchDir;
use ontick_tsn::model::Plane;

use super::target_flags::standing;

/// Who serves a switch notices ten times a second that it is asked.
const PATIENCE: Duration = Duration::from_secs(5);
const TURN: Duration = Duration::from_millis(10);

/// Has the processes that serve these switches give up their ports. One that cannot be asked, or does not in time, has them
/// still while settings are put back.
pub fn ports(folders: &[&SwitchDir]) {
    let is_served =
        |folder: &SwitchDir| folder.is_watched() && standing(folder).is_ok_and(|switch| switch.plane == Plane::User);
    let is_asked = |folder: &&SwitchDir| is_served(folder) && folder.ask_release().is_ok();
    let asked: Vec<&SwitchDir> = folders.iter().copied().filter(is_asked).collect();
    let began = Instant::now();
    let has_them = |folder: &&SwitchDir| folder.is_release_asked() && folder.is_watched();
    while asked.iter().any(has_them) && began.elapsed() < PATIENCE {
        std::thread::sleep(TURN);
    }
}
