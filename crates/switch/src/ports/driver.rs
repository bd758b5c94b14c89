//! What a port's driver says of it: its name, and how it stamps frames with the time.

use serde::Serialize;

use crate::ethtool::{Request, ask};

/// Who drives a port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Driver {
    /// Its name: `igc`, `st_gmac`, `veth`.
    pub name: String,
    /// Where the port is: `0000:02:00.1`.
    pub bus: String,
}

/// Who drives a port; nothing where nobody says.
pub(super) fn driver(port: &str) -> Option<Driver> {
    const GDRVINFO: u32 = 0x03;
    let mut info = Request::new(GDRVINFO, 196);
    ask(port, &mut info).ok()?;
    // Behind the command: driver, version, firmware and place, of 32 octets each.
    let octets = info.octets(1);
    let text = |from: usize| {
        let field = octets.get(from..from + 32).unwrap_or_default();
        String::from_utf8_lossy(field.split(|octet| *octet == 0).next().unwrap_or_default()).into_owned()
    };
    Some(Driver { name: text(0), bus: text(96) })
}

/// How a port stamps frames with the time (`ethtool -T`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Stamps {
    /// The port's own clock stamps frames that are sent.
    pub hardware_send: bool,
    /// The port's own clock stamps frames that come in.
    pub hardware_receive: bool,
    /// The driver stamps frames that are sent.
    pub software_send: bool,
    /// Number of the port's PTP hardware clock: /dev/ptpN.
    pub clock: Option<u32>,
}

pub(super) fn stamps(port: &str) -> Stamps {
    const GET_TS_INFO: u32 = 0x41;
    // SOF_TIMESTAMPING_… (linux/net_tstamp.h).
    const TX_HARDWARE: u32 = 1;
    const TX_SOFTWARE: u32 = 1 << 1;
    const RX_HARDWARE: u32 = 1 << 2;
    const RAW_HARDWARE: u32 = 1 << 6;
    let mut info = Request::new(GET_TS_INFO, 44);
    if ask(port, &mut info).is_err() {
        return Stamps::default();
    }
    let has = |bits: u32| info.word(1) & bits == bits;
    Stamps {
        hardware_send: has(TX_HARDWARE | RAW_HARDWARE),
        hardware_receive: has(RX_HARDWARE | RAW_HARDWARE),
        software_send: has(TX_SOFTWARE),
        // Minus one where there is none.
        clock: i32::try_from(info.word(2)).ok().map(|index| index as u32),
    }
}
