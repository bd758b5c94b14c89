//! The machine as this wing meets it: programs that show or change its network, files of /proc/sys, offloads.
//!
//! A trait, so that a test can refuse any single act. Links are always asked of `ip` or of the kernel by rtnetlink, never of
//! /sys/class/net: that shows the network namespace in which it was mounted, which need not be this one.

use std::io::{self, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ontick_undo::program;
use serde::Deserialize;

use super::Act;
use super::gates_message;
use super::quoted::quoted;
use crate::ethtool::mac_merge;
use crate::{ethtool, features, link};

/// Something was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{what}` was refused: {why}")]
pub struct Refused {
    /// What was to be done or looked at, as a person would type it.
    pub what: String,
    /// Why, with the program's own words quoted at the end.
    pub why: String,
}

/// The machine.
pub trait Host {
    /// What a program prints that changes nothing.
    fn query(&self, argv: &[&str]) -> Result<String, Refused>;

    /// What a program prints that is fed with `input` and changes nothing outside itself.
    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused>;

    /// A file, without the space around its text; none if it is not there.
    fn read(&self, path: &str) -> Option<String>;

    /// The offloads of a port.
    fn features(&self, port: &str) -> Result<features::Features, Refused>;

    /// The MAC Merge sublayer of a port, by which it preempts frames.
    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused>;

    /// Transmit queues of a port that are in use, where its driver tells.
    fn transmit_queues(&self, port: &str) -> Option<u32>;

    /// Bits per second of a port's link, where its driver tells.
    fn rate(&self, port: &str) -> Option<u64>;

    /// The name of a port's driver, where it tells.
    fn driver(&self, port: &str) -> Option<String>;

    /// Changes something.
    fn act(&self, act: &Act) -> Result<(), Refused>;
}

/// The running machine, in the network namespace of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Live;

impl Host for Live {
    fn query(&self, argv: &[&str]) -> Result<String, Refused> {
        run(argv, "")
    }

    fn try_out(&self, argv: &[&str], input: &str) -> Result<String, Refused> {
        run(argv, input)
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    }

    fn features(&self, port: &str) -> Result<features::Features, Refused> {
        features::get(port).map_err(|e| refused(format!("ethtool -k {port}"), &e))
    }

    fn mac_merge(&self, port: &str) -> Result<mac_merge::State, Refused> {
        mac_merge::get(port).map_err(|e| refused(format!("ethtool --show-mm {port}"), &e))
    }

    fn transmit_queues(&self, port: &str) -> Option<u32> {
        ethtool::transmit_queues(port)
    }

    fn rate(&self, port: &str) -> Option<u64> {
        ethtool::rate(port)
    }

    fn driver(&self, port: &str) -> Option<String> {
        ethtool::driver(port)
    }

    fn act(&self, act: &Act) -> Result<(), Refused> {
        match act {
            Act::Run { argv } => run(&borrowed(argv), "").map(drop),
            Act::Feed { argv, input } => run(&borrowed(argv), input).map(drop),
            Act::First { of } => {
                let mut last = Ok(());
                for argv in of {
                    last = run(&borrowed(argv), "").map(drop);
                    if last.is_ok() {
                        break;
                    }
                }
                last
            }
            Act::Write { path, value } => std::fs::write(path, value).map_err(|e| refused(act.to_string(), &e)),
            Act::Features { port, wanted } => features::set(port, wanted).map_err(|e| refused(act.to_string(), &e)),
            Act::Gates { port, taprio } => {
                let what = || format!("a list of {} entries for the gates of {port}", taprio.entries.len());
                gates_message::replace(port, taprio).map_err(|e| refused(what(), &e))
            }
            Act::MacMerge { port, wanted } => mac_merge::set(port, wanted).map_err(|e| refused(act.to_string(), &e)),
            Act::AwaitLink { port, at_most_ms } => {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(*at_most_ms) && !has_carrier(port) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            }
        }
    }
}

/// It is asked again and again: not by a program.
fn has_carrier(port: &str) -> bool {
    link::list().is_ok_and(|links| links.iter().any(|link| link.name == port && link.carrier))
}

fn borrowed(argv: &[String]) -> Vec<&str> {
    argv.iter().map(String::as_str).collect()
}

fn refused(what: String, error: &io::Error) -> Refused {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => " (run it with sudo)",
        _ => "",
    };
    Refused { what, why: format!("{error}{hint}") }
}

/// Runs a program to its end; its standard output, or why it failed in its own words.
fn run(argv: &[&str], input: &str) -> Result<String, Refused> {
    let what = || argv.join(" ");
    let command = || {
        let mut child = program::command(argv[0])?
            .args(&argv[1..])
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            // One that ends early says itself why.
            let _ = pipe.write_all(input.as_bytes());
        }
        child.wait_with_output()
    };
    let output = match command() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(Refused { what: what(), why: not_installed(argv[0]) });
        }
        other => other.map_err(|e| refused(what(), &e))?,
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = match String::from_utf8_lossy(&output.stderr) {
        said if said.trim().is_empty() => format!("it ended with {}", output.status),
        said => quoted(speaker(argv), &said),
    };
    Err(Refused { what: what(), why })
}

/// Whose words a command's are: those of the program that `unshare` starts, unless it could not.
fn speaker<'a>(argv: &[&'a str]) -> &'a str {
    let inner = argv.iter().position(|word| *word == "--").filter(|_| argv[0] == "unshare");
    inner.and_then(|at| argv.get(at + 1)).unwrap_or(&argv[0])
}

/// What to do about a program that is not here.
pub(crate) fn not_installed(program: &str) -> String {
    let package = match program {
        "ip" | "tc" | "bridge" => "iproute2",
        "nft" => "nftables",
        "ip6tables" => "iptables",
        "modprobe" => "kmod",
        "ovs-vsctl" | "ovs-ofctl" | "ovs-appctl" => "openvswitch-switch",
        "test" => "coreutils",
        "unshare" => "util-linux",
        other => other,
    };
    format!("the program {program} is not installed (package {package})")
}

/// An interface as `ip -d -j link` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Link {
    /// Its number.
    #[serde(rename = "ifindex")]
    pub index: u32,
    /// Its name.
    #[serde(rename = "ifname")]
    pub name: String,
    /// Its MAC address, where it has one.
    #[serde(default)]
    pub address: Option<String>,
    /// `UP`, `LOWER_UP`, `NO-CARRIER`, …
    pub flags: Vec<String>,
    /// Its bridge, bond or the like.
    pub master: Option<String>,
    /// Largest service data unit.
    pub mtu: u32,
    /// Transmit queues that it was made with.
    #[serde(rename = "num_tx_queues", default)]
    pub queues: u32,
    /// `ether`, `loopback`, …
    #[serde(default)]
    pub link_type: String,
    /// What it is, where it is not a plain port.
    #[serde(rename = "linkinfo", default)]
    pub info: LinkInfo,
}

/// What kind of interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct LinkInfo {
    /// `bridge`, `veth`, …
    #[serde(rename = "info_kind")]
    pub kind: Option<String>,
    /// What it is in its bridge.
    #[serde(rename = "info_slave_data", default)]
    pub bridge_port: BridgePort,
}

/// A port as its bridge has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct BridgePort {
    /// `forwarding`, `blocking`, `listening`, `learning` or `disabled` (IEEE 802.1D-2004 clause 17.10); of other masters
    /// something else.
    pub state: Option<String>,
}

impl Link {
    /// Whether it was switched on.
    pub fn is_up(&self) -> bool {
        self.flags.iter().any(|flag| flag == "UP")
    }

    /// Whether something is at the other end.
    pub fn has_carrier(&self) -> bool {
        self.flags.iter().any(|flag| flag == "LOWER_UP")
    }
}

/// All interfaces of this network namespace.
pub fn links(host: &impl Host) -> Result<Vec<Link>, Refused> {
    let argv = ["ip", "-d", "-j", "link", "show"];
    parsed(&argv, &host.query(&argv)?)
}

/// What a program printed as JSON; nothing at all is an empty list.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(argv: &[&str], text: &str) -> Result<T, Refused> {
    let text = if text.trim().is_empty() { "[]" } else { text };
    serde_json::from_str(text)
        .map_err(|e| Refused { what: argv.join(" "), why: format!("its output cannot be read: {e}") })
}
