//! `[time]`: how the nodes of a network keep one time, by PTP (IEEE 1588) or its profile gPTP (IEEE 802.1AS).

use toml::Spanned;

use super::NodeId;
use super::names::{Names, one_or_several};
use super::pulse::{self, Pulse};
use crate::config::problem::{Report, Reported};
use crate::config::table::Table;
use crate::config::{ValueError, values};
use crate::model::GateOverride;

/// Domains that both profiles may use (IEEE 1588-2019 table 2).
const DOMAINS: std::ops::RangeInclusive<u64> = 0..=127;
/// Nodes that are named as grandmasters at most.
const MOST_GRANDMASTERS: usize = 16;
/// Logarithms to base 2 of intervals in seconds: 7.8125 ms to 16 s.
const LOGS: std::ops::RangeInclusive<i8> = -7..=4;

/// Clocks of machines drift by up to some 100 ppm: by no more than 1 ms then. A grandmaster that takes over is there sooner.
const USUAL_HOLDOVER_NS: u64 = 10_000_000_000;
const LONGEST_HOLDOVER_NS: u64 = 3_600_000_000_000;
/// Readings after which time that was lost is good again.
const USUAL_GOOD_READINGS: u32 = 8;
const MOST_GOOD_READINGS: u64 = 10_000;

/// How nodes keep one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSync {
    /// The profile of PTP.
    pub profile: Profile,
    /// What carries its messages.
    pub transport: Transport,
    /// The domain's number.
    pub domain: u8,
    /// Nodes that are to give the time: the first that is there. Empty: the best clock, by IEEE 1588's algorithm.
    pub grandmasters: Vec<NodeId>,
    /// Time between two Sync messages, as the logarithm to base 2 of seconds.
    pub log_sync_interval: i8,
    /// Time between two Announce messages, likewise.
    pub log_announce_interval: i8,
    /// How far a node's clock may be from the grandmaster's, in ns; absent: as far as it is.
    pub offset_bound_ns: Option<u64>,
    /// What becomes of the gates of a node that loses the time; absent: they stay as they are.
    pub on_time_loss: Option<OnTimeLoss>,
    /// By which the first of the grandmasters has its own time; absent: by its system's clock.
    pub pulse: Option<Pulse>,
}

/// What becomes of gates when the time is lost, and when it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnTimeLoss {
    /// What all gates are then.
    pub gates: GateOverride,
    /// Time is lost that was not good for longer than this, in ns.
    pub holdover_ns: u64,
    /// It is good again after so many good readings, with no bad one between them.
    pub good_readings: u32,
}

/// Profiles of PTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// IEEE 802.1AS: every node on the way takes part, and measures the delay of each of its cables.
    Gptp,
    /// The default profile of IEEE 1588 (annex I.3 of the edition of 2019), with end-to-end delays.
    Default,
}

/// What carries PTP's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Ethernet (IEEE 1588-2019 annex E).
    L2,
    /// UDP over IPv4 (annex C).
    UdpIpv4,
}

impl TimeSync {
    /// `priority1` of the first grandmaster that is named, which is before that of any clock that nobody configured.
    pub const FIRST_PRIORITY1: u8 = 64;

    /// `priority1` of a node: the grandmasters' in their order, everybody else's behind.
    pub fn priority1(&self, node: NodeId) -> u8 {
        let usual = match self.profile {
            // Of a system that may leave the network (IEEE 802.1AS-2020 table 8-1); it lets every other one be first.
            Profile::Gptp => 248,
            Profile::Default => 128,
        };
        let place = self.grandmasters.iter().position(|one| *one == node);
        place.map_or(usual, |place| Self::FIRST_PRIORITY1 + place as u8)
    }
}

pub(super) fn read(mut table: Table, names: &Names, report: &mut Report) -> Result<TimeSync, Reported> {
    let profiles = [("gptp", Profile::Gptp), ("default", Profile::Default)];
    let profile = table.choice("profile", &profiles, report);
    let profile = table.require("profile", "profile = \"gptp\", or \"default\"", profile, report);
    let transport = table.choice("transport", &[("L2", Transport::L2), ("UDPv4", Transport::UdpIpv4)], report);
    let domain = table.whole("domain", DOMAINS, report);
    let grandmasters = one_or_several(&mut table, "grandmaster", names, report);
    let sync = table.parsed("sync-interval", report, log_of_seconds);
    let announce = table.parsed("announce-interval", report, log_of_seconds);
    let bound = table.parsed("offset-bound", report, |text| match values::time(text)? {
        0 => Err(ValueError::less_than(text, "1ns")),
        ns if ns > 1_000_000_000 => Err(ValueError::more_than(text, "1s")),
        ns => Ok(ns),
    });
    let gates = [("keep", None), ("open", Some(GateOverride::Open)), ("stop", Some(GateOverride::Closed))];
    let gates = table.choice("on-time-loss", &gates, report);
    let holdover = table.parsed("holdover", report, |text| match values::time(text)? {
        ns if ns > LONGEST_HOLDOVER_NS => Err(ValueError::more_than(text, "1h")),
        ns => Ok(ns),
    });
    let good_readings = table.whole("good-readings", 1..=MOST_GOOD_READINGS, report);
    let pulse = match table.table("pps", "[time.pps]".into(), report) {
        Ok(Some(table)) => Ok(Some((table.span(), pulse::read(table, report)))),
        Ok(None) => Ok(None),
        Err(reported) => Err(reported),
    };
    table.finish(report);

    let profile = profile.map(Spanned::into_inner);
    let transport = transport.and_then(|transport| match (transport, &profile) {
        (Some(transport), Ok(Profile::Gptp)) if *transport.get_ref() != Transport::L2 => {
            Err(report.error(transport.span(), "gPTP is of Ethernet alone: `transport` is \"L2\" or left out"))
        }
        (transport, _) => Ok(transport.map_or(Transport::L2, Spanned::into_inner)),
    });
    let grandmasters = grandmasters.and_then(|found| match found {
        Some(found) if found.get_ref().is_empty() => {
            Err(report.error(found.span(), "`grandmaster` names at least one node, or is left out"))
        }
        Some(found) if found.get_ref().len() > MOST_GRANDMASTERS => {
            Err(report.error(found.span(), format!("`grandmaster` names at most {MOST_GRANDMASTERS} nodes")))
        }
        Some(found) => Ok(found.into_inner().into_iter().map(Spanned::into_inner).collect()),
        None => Ok(Vec::new()),
    });
    let pulse =
        pulse.and_then(|pulse| match (&grandmasters, pulse) {
            (Ok(named), Some((span, _))) if named.is_empty() => Err(report
                .error(span, "[time.pps] is the pulse of the first node that `grandmaster` names, and it names none")),
            (_, pulse) => pulse.map(|(_, pulse)| pulse).transpose(),
        });
    let profile = profile?;
    // As linuxptp's examples of both profiles have them.
    let (usual_sync, usual_announce) = match profile {
        Profile::Gptp => (-3, 0),
        Profile::Default => (0, 1),
    };
    let log_sync_interval = sync?.map_or(usual_sync, Spanned::into_inner);
    let on_time_loss = on_time_loss(gates?, holdover?, good_readings?, seconds(log_sync_interval), report)?;
    Ok(TimeSync {
        profile,
        transport: transport?,
        domain: domain?.map_or(0, |domain| domain.into_inner() as u8),
        grandmasters: grandmasters?,
        log_sync_interval,
        log_announce_interval: announce?.map_or(usual_announce, Spanned::into_inner),
        offset_bound_ns: bound?.map(Spanned::into_inner),
        on_time_loss,
        pulse: pulse?,
    })
}

fn on_time_loss(
    gates: Option<Spanned<Option<GateOverride>>>,
    holdover: Option<Spanned<u64>>,
    good_readings: Option<Spanned<u64>>,
    sync_interval_ns: u64,
    report: &mut Report,
) -> Result<Option<OnTimeLoss>, Reported> {
    let Some(gates) = gates.and_then(Spanned::into_inner) else {
        let unused = [("holdover", holdover.map(|at| at.span())), ("good-readings", good_readings.map(|at| at.span()))];
        return match unused.into_iter().find_map(|(key, span)| Some((key, span?))) {
            None => Ok(None),
            Some((key, span)) => {
                Err(report.error(span, format!("`{key}` has no effect without `on-time-loss = \"open\"`, or \"stop\"")))
            }
        };
    };
    // There is a reading for each Sync, and one that is a little late is no loss.
    let least_ns = 2 * sync_interval_ns;
    if let Some(short) = holdover.as_ref().filter(|at| *at.get_ref() < least_ns) {
        let least = ontick_units::exact(least_ns);
        return Err(report.error(short.span(), format!("`holdover` is at least twice `sync-interval`, {least}")));
    }
    Ok(Some(OnTimeLoss {
        gates,
        holdover_ns: holdover.map_or(USUAL_HOLDOVER_NS.max(2 * least_ns), Spanned::into_inner),
        good_readings: good_readings.map_or(USUAL_GOOD_READINGS, |at| at.into_inner() as u32),
    }))
}

/// PTP's intervals are powers of two.
fn log_of_seconds(text: &str) -> Result<i8, ValueError> {
    let ns = values::time(text)?;
    LOGS.clone().find(|log| seconds(*log) == ns).ok_or_else(|| {
        ValueError::is_not(
            text,
            "a power of two in seconds, from 7812.5us to 16s: 31.25ms, 62.5ms, 125ms, 250ms, 1s, 2s",
        )
    })
}

/// The interval of a logarithm, in ns.
fn seconds(log: i8) -> u64 {
    if log < 0 { 1_000_000_000 >> -log } else { 1_000_000_000 << log }
}

#[cfg(test)]
mod tests {
    use super::super::pulse::PulseSource;
    use super::*;

    const NETWORK: &str = r#"
switch = [{ name = "s1" }, { name = "s2" }]
station = [{ name = "a" }, { name = "b" }]
link = [{ between = ["a", "s1"] }, { between = ["s1", "s2"] }, { between = ["s2", "b"] }]
stream = [{ name = "f", from = "a", to = "b", size = 100, period = "1ms" }]
"#;

    fn time(section: &str) -> Result<Option<TimeSync>, String> {
        let network = super::super::read(&format!("{NETWORK}[time]\n{section}\n"));
        network.map(|network| network.time).map_err(|errors| errors.in_file("f"))
    }

    #[test]
    fn each_profile_has_its_usual_intervals() {
        assert_eq!(super::super::read(NETWORK).unwrap().time, None);
        let gptp = time("profile = \"gptp\"\ngrandmaster = \"s2\"").unwrap().unwrap();
        assert_eq!((gptp.log_sync_interval, gptp.log_announce_interval, gptp.domain), (-3, 0, 0));
        assert_eq!([0, 1, 2].map(|node| gptp.priority1(node)), [248, 64, 248]);
        let all = "profile = \"default\"\ntransport = \"UDPv4\"\ndomain = 7\ngrandmaster = [\"s2\", \"a\"]\nsync-interval \
                   = \"62.5ms\"\nannounce-interval = \"4s\"\noffset-bound = \"50us\"\non-time-loss = \"stop\"\nholdover = \"125ms\"\ngood-readings = 3";
        let expected = TimeSync {
            profile: Profile::Default,
            transport: Transport::UdpIpv4,
            domain: 7,
            grandmasters: vec![1, 2],
            log_sync_interval: -4,
            log_announce_interval: 2,
            offset_bound_ns: Some(50_000),
            on_time_loss: Some(OnTimeLoss { gates: GateOverride::Closed, holdover_ns: 125_000_000, good_readings: 3 }),
            pulse: None,
        };
        assert_eq!(time(all), Ok(Some(expected.clone())));
        assert_eq!([0, 1, 2].map(|node| expected.priority1(node)), [128, 64, 65]);
        let lost = |more: &str| time(&format!("profile = \"gptp\"\n{more}")).unwrap().unwrap().on_time_loss;
        assert_eq!((lost(""), lost("on-time-loss = \"keep\"")), (None, None));
        let usual = OnTimeLoss { gates: GateOverride::Open, holdover_ns: 10_000_000_000, good_readings: 8 };
        assert_eq!(lost("on-time-loss = \"open\""), Some(usual));
        let slow = lost("on-time-loss = \"open\"\nsync-interval = \"16s\"").unwrap();
        assert_eq!(slow.holdover_ns, 64_000_000_000, "four Sync messages");
    }

    #[test]
    fn a_grandmaster_may_have_a_pulse() {
        let pulse = |keys: &str| {
            let section = format!("profile = \"gptp\"\ngrandmaster = \"a\"\n[time.pps]\n{keys}");
            time(&section).unwrap().unwrap().pulse.unwrap()
        };
        let usual = Pulse { source: PulseSource::Generic, interface: None, pin: 0, channel: 0, accuracy_ns: None };
        assert_eq!(pulse("source = \"generic\""), usual);
        let keys = "source = \"nmea:/dev/ttyS0\"\ninterface = \"eth0\"\npin = 1\nchannel = 2\naccuracy = \"100ns\"";
        let all = Pulse {
            source: PulseSource::Nmea("/dev/ttyS0".into()),
            interface: Some("eth0".into()),
            pin: 1,
            channel: 2,
            accuracy_ns: Some(100),
        };
        assert_eq!(pulse(keys), all);
    }

    #[test]
    fn what_is_wrong_is_reported_where_it_is() {
        let gptp = "profile = \"gptp\"\n";
        for (section, says) in [
            ("domain = 1", "[time] lacks `profile` (profile = \"gptp\", or \"default\")"),
            ("profile = \"automotive\"", "f:7:11: `profile`: "),
            ("profile = \"gptp\"\ntransport = \"UDPv4\"", "f:8:13: gPTP is of Ethernet alone"),
            ("profile = \"gptp\"\ndomain = 128", "f:8:10: `domain` is from 0 to 127, not 128"),
            ("profile = \"gptp\"\ngrandmaster = \"s3\"", "f:8:15: there is no node \"s3\""),
            ("profile = \"gptp\"\ngrandmaster = [\"a\", \"a\"]", "f:8:21: \"a\" occurs twice"),
            ("profile = \"gptp\"\ngrandmaster = []", "f:8:15: `grandmaster` names at least one node"),
            ("profile = \"gptp\"\nsync-interval = \"100ms\"", "f:8:17: `sync-interval`: "),
            ("profile = \"gptp\"\nannounce-interval = \"32s\"", "f:8:21: `announce-interval`: "),
            ("profile = \"gptp\"\noffset-bound = \"0.1ns\"", "f:8:16: `offset-bound`: \"0.1ns\" is less than 1ns"),
            ("profile = \"gptp\"\noffset-bound = \"2s\"", "f:8:16: `offset-bound`: "),
            ("profile = \"gptp\"\non-time-loss = \"shut\"", "f:8:16: `on-time-loss`: "),
            (
                "profile = \"gptp\"\non-time-loss = \"open\"\nholdover = \"249ms\"",
                "f:9:12: `holdover` is at least twice",
            ),
            ("profile = \"gptp\"\non-time-loss = \"open\"\nholdover = \"2h\"", "f:9:12: `holdover`: "),
            ("profile = \"gptp\"\non-time-loss = \"keep\"\nholdover = \"1s\"", "f:9:12: `holdover` has no effect"),
            ("profile = \"gptp\"\ngood-readings = 4", "f:8:17: `good-readings` has no effect"),
            ("profile = \"gptp\"\nbound = \"1us\"", "unknown key `bound` in [time]"),
            (
                "profile = \"gptp\"\n[time.pps]\nsource = \"generic\"",
                "f:8:1: [time.pps] is the pulse of the first node",
            ),
            ("profile = \"gptp\"\ngrandmaster = \"a\"\n[time.pps]", "[time.pps] lacks `source`"),
            ("profile = \"gptp\"\ngrandmaster = \"a\"\npps.source = \"nmea\"", "f:9:14: `source`: "),
            ("profile = \"gptp\"\ngrandmaster = \"a\"\npps.source = \"nmea:/dev/tty S0\"", "f:9:14: `source`: "),
            ("profile = \"gptp\"\npps.pin = 256", "`pin` is from 0 to 255, not 256"),
            ("profile = \"gptp\"\npps.accuracy = \"24ns\"", "`accuracy`: "),
            ("profile = \"gptp\"\npps.accuracy = \"2s\"", "`accuracy`: "),
            ("profile = \"gptp\"\npps.edge = \"rising\"", "unknown key `edge` in [time.pps]"),
        ] {
            let said = time(section).unwrap_err();
            assert!(said.contains(says), "{section}: {said}");
        }
        let many: Vec<String> = (0..17).map(|n| format!("\"n{n}\"")).collect();
        let nodes: String = (0..17).map(|n| format!("[[switch]]\nname = \"n{n}\"\n")).collect();
        let text = format!("{nodes}[time]\n{gptp}grandmaster = [{}]\n", many.join(", "));
        let said = super::super::read(&text).unwrap_err().to_string();
        assert!(said.contains("at most 16 nodes"), "{said}");
    }
}
