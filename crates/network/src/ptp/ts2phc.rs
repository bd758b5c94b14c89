//! ts2phc of a grandmaster that has its own time by a pulse: its file, and whether there can be one.

use ontick_tsn::network::PulseSource;

use super::configuration::Node;
use super::stamping::Stamping;

/// A pulse cannot be what a node has its time by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PulseError {
    /// Its frames are stamped by software.
    #[error(
        "[time.pps] needs a network card with a clock that stamps the pulse, and frames of node {0} are stamped by software"
    )]
    Software(String),
    /// It has several clocks.
    #[error(
        "the interfaces of node {0} have clocks of their own, and the pulse of [time.pps] is stamped by one of them alone: \
         use interfaces of one card"
    )]
    SeveralClocks(String),
}

impl Node {
    /// Whether its pulse, if it has one, can be stamped by what stamps its frames.
    pub fn check_pulse(&self, stamping: &Stamping) -> Result<(), PulseError> {
        match (&self.pulse, stamping) {
            (None, _) => Ok(()),
            (Some(_), Stamping::Software(_)) => Err(PulseError::Software(self.name.clone())),
            (Some(_), Stamping::Hardware(clocks)) if clocks.len() > 1 => {
                Err(PulseError::SeveralClocks(self.name.clone()))
            }
            (Some(_), Stamping::Hardware(_)) => Ok(()),
        }
    }

    /// What ts2phc(8) reads, and its source, which its file cannot say.
    pub fn ts2phc(&self) -> Option<(String, &'static str)> {
        let (interface, pulse) = self.pulse.as_ref()?;
        let (source, serial) = match &pulse.source {
            PulseSource::Nmea(port) => ("nmea", format!("{:<23} {port}\n", "ts2phc.nmea_serialport")),
            PulseSource::Generic => ("generic", String::new()),
        };
        let text = format!(
            "# ts2phc of node {}: ts2phc -f FILE -s {source}\n# The card's clock by the pulse at one of its pins; {}.\n\
             [global]\n{serial}[{interface}]\n{:<23} {}\n{:<23} {}\n",
            self.name,
            match pulse.source {
                PulseSource::Nmea(_) => "a receiver says which second it is",
                PulseSource::Generic => "which second it is says the system's clock",
            },
            "ts2phc.pin_index",
            pulse.pin,
            "ts2phc.channel",
            pulse.channel,
        );
        Some((text, source))
    }
}

#[cfg(test)]
mod tests {
    use super::super::configuration::tests::{network, settings};
    use super::*;

    const GPTP: &str = "[time]\nprofile = \"gptp\"\ngrandmaster = [\"a\", \"b\"]\n";

    fn node(name: &str, pps: &str) -> Node {
        Node::find(&network(&format!("{GPTP}{pps}")), name).unwrap()
    }

    #[test]
    fn the_first_grandmaster_has_the_pulse() {
        let pps = "pps = { source = \"nmea:/dev/ttyS1\", pin = 1, channel = 2, accuracy = \"40ns\" }\n";
        assert_eq!(node("b", pps).ts2phc(), None);
        let a = node("a", pps);
        let (text, source) = a.ts2phc().unwrap();
        assert_eq!(source, "nmea");
        let expected = [
            ("[global]", ""),
            ("ts2phc.nmea_serialport", "/dev/ttyS1"),
            ("[eth0]", ""),
            ("ts2phc.pin_index", "1"),
            ("ts2phc.channel", "2"),
        ];
        assert_eq!(settings(&text), expected);
        let ptp4l = a.ptp4l(&Stamping::Hardware(vec![0]));
        for setting in [("clockClass", "6"), ("clockAccuracy", "0x21"), ("timeSource", "0x20"), ("masterOnly", "1")] {
            assert!(settings(&ptp4l).contains(&setting), "{setting:?} is not in\n{ptp4l}");
        }
        assert_eq!(a.phc2sys_options(), ["-s", "eth0", "-w"]);
        assert!(!node("b", pps).ptp4l(&Stamping::Hardware(vec![0])).contains("clockClass"));
    }

    #[test]
    fn of_a_pulse_alone_little_is_known() {
        let a = node("a", "pps = { source = \"generic\" }\n");
        assert_eq!(a.ts2phc().unwrap().1, "generic");
        let ptp4l = a.ptp4l(&Stamping::Hardware(vec![0]));
        for setting in [("clockClass", "248"), ("clockAccuracy", "0xfe"), ("timeSource", "0x90")] {
            assert!(settings(&ptp4l).contains(&setting), "{setting:?} is not in\n{ptp4l}");
        }
    }

    #[test]
    fn one_card_has_to_stamp_it() {
        let a = node("a", "pps = { source = \"generic\" }\n");
        let software = Stamping::Software(Vec::new());
        assert_eq!(a.check_pulse(&software), Err(PulseError::Software("a".into())));
        let two = Stamping::Hardware(vec![0, 1]);
        assert_eq!(a.check_pulse(&two), Err(PulseError::SeveralClocks("a".into())));
        assert_eq!(a.check_pulse(&Stamping::Hardware(vec![0])), Ok(()));
        assert_eq!(node("b", "pps = { source = \"generic\" }\n").check_pulse(&software), Ok(()));
    }
}
