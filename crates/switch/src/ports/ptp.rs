//! Who keeps the machine's clocks in time by PTP (IEEE 1588), and how well.

use std::fs;
use std::time::Duration;

use serde::Serialize;

use super::program::said;
use super::tools::Tools;

/// Programs of linuxptp that keep clocks in time.
const PROGRAMS: [&str; 3] = ["ptp4l", "phc2sys", "timemaster"];

/// What keeps the clocks in time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ptp {
    /// Those programs that run.
    pub running: Vec<&'static str>,
    /// What ptp4l says, where it can be asked.
    pub state: Option<Synchronised>,
}

/// What ptp4l says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Synchronised {
    /// Another clock is the grandmaster, and this machine follows it.
    pub to_grandmaster: bool,
    /// Nanoseconds from that clock when it was last looked at.
    pub offset_ns: Option<i64>,
    /// State of each PTP port: `SLAVE`, `MASTER`, `LISTENING`, …
    pub ports: Vec<String>,
}

impl Synchronised {
    /// Whether the clock is the network's: followed, or given by this machine.
    pub fn is_shared(&self) -> bool {
        let has = |state: &str| self.ports.iter().any(|port| port == state);
        self.to_grandmaster && (has("SLAVE") || self.ports.is_empty()) || self.is_grandmaster()
    }

    /// Whether this machine gives the time.
    pub fn is_grandmaster(&self) -> bool {
        !self.to_grandmaster && self.ports.iter().any(|port| port == "MASTER" || port == "GRAND_MASTER")
    }

    /// What `pmc` printed.
    fn read(text: &str) -> Option<Self> {
        let mut state = Self::default();
        let mut answered = false;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
            match name {
                "gmPresent" => (answered, state.to_grandmaster) = (true, value == "true"),
                "master_offset" => state.offset_ns = value.parse().ok(),
                "portState" => {
                    answered = true;
                    state.ports.push(value.chars().take(32).collect());
                }
                _ => {}
            }
        }
        answered.then_some(state)
    }
}

impl Ptp {
    pub(super) fn probe(tools: &Tools) -> Self {
        let commands = processes();
        let running: Vec<&str> = PROGRAMS.into_iter().filter(|name| commands.iter().any(|c| c == name)).collect();
        let asked = running.contains(&"ptp4l").then(|| tools.get("pmc")).flatten();
        let questions = ["-u", "-b", "0", "GET TIME_STATUS_NP", "GET PORT_DATA_SET"];
        let answer = asked.and_then(|pmc| said(&pmc.path, &questions, Duration::from_secs(5)));
        Self { running, state: answer.as_deref().and_then(Synchronised::read) }
    }
}

/// Names of all processes that can be seen.
pub fn processes() -> Vec<String> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &std::ffi::OsString| name.to_str().is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let processes = folders.filter(|folder| is_process(&folder.file_name()));
    processes
        .filter_map(|folder| Some(ontick_rt::kernel_text::read(folder.path().join("comm")).ok()?.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As pmc of linuxptp prints it.
    fn answer(present: &str, offset: &str, states: &[&str]) -> String {
        let port = |(n, state): (usize, &&str)| {
            format!(
                "\t90e2ba.fffe.20c7f8-{} seq 1 RESPONSE MANAGEMENT PORT_DATA_SET\n\t\tportIdentity            90e2ba.fffe.20c7f8-1\n\t\tportState               {state}\n",
                n + 1
            )
        };
        let ports: String = states.iter().enumerate().map(port).collect();
        format!(
            "sending: GET TIME_STATUS_NP\n\t90e2ba.fffe.20c7f8-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP\n\t\tmaster_offset              {offset}\n\t\tingress_time               1361545089345029441\n\t\tgmPresent                  {present}\n\t\tgmIdentity                 00a069.fffe.0b552d\nsending: GET PORT_DATA_SET\n{ports}"
        )
    }

    #[test]
    fn what_pmc_says() {
        let read = |text: &str| Synchronised::read(text).unwrap();
        let slave = read(&answer("true", "-310", &["SLAVE", "MASTER"]));
        assert_eq!((slave.offset_ns, slave.is_shared(), slave.is_grandmaster()), (Some(-310), true, false));
        let grandmaster = read(&answer("false", "0", &["MASTER"]));
        assert_eq!((grandmaster.is_shared(), grandmaster.is_grandmaster()), (true, true));
        let alone = read(&answer("false", "0", &["LISTENING"]));
        assert_eq!((alone.is_shared(), alone.is_grandmaster()), (false, false));
        let lost = read(&answer("true", "5", &["UNCALIBRATED"]));
        assert!(!lost.is_shared());
        // Nobody answered.
        assert_eq!(Synchronised::read("sending: GET TIME_STATUS_NP\nsending: GET PORT_DATA_SET\n"), None);
    }

    #[test]
    fn this_process_is_seen() {
        let own = fs::read_to_string("/proc/self/comm").unwrap();
        assert!(processes().iter().any(|name| name == own.trim()));
    }
}
