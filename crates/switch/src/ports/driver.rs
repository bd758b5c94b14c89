//! What a port's driver says of it: its name, and how it stamps frames with the time.

use serde::Serialize;

use crate::ethtool;

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
    ethtool::driver_and_bus(port).map(|(name, bus)| Driver { name, bus })
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

/// How a port of this name stamps frames; not at all where there is none.
pub fn stamps(port: &str) -> Stamps {
    // SOF_TIMESTAMPING_… (linux/net_tstamp.h).
    const TX_HARDWARE: u32 = 1;
    const TX_SOFTWARE: u32 = 1 << 1;
    const RX_HARDWARE: u32 = 1 << 2;
    const RAW_HARDWARE: u32 = 1 << 6;
    let Some((stamps, clock)) = ethtool::time_stamping(port) else { return Stamps::default() };
    let has = |bits: u32| stamps & bits == bits;
    Stamps {
        hardware_send: has(TX_HARDWARE | RAW_HARDWARE),
        hardware_receive: has(RX_HARDWARE | RAW_HARDWARE),
        software_send: has(TX_SOFTWARE),
        clock,
    }
}
