//! What host and firmware share: the words of `pru/shared.inc`.

/// Where the RAM that both can reach is on the processor's bus (AM335x manual, table 4-6: PRU-ICSS 0x4a300000, shared
/// RAM 0x10000 behind).
pub const SHARED_RAM: u64 = 0x4a31_0000;
/// Its size.
pub const SHARED_BYTES: usize = 0x3000;
/// Where a PRU sees it.
pub const SHARED_LOCAL: u32 = 0x1_0000;
/// A PRU's block in it begins so far behind the other's.
pub const BLOCK: usize = 0x1800;

/// A cycle of a PRU, in ns: its clock of 200 MHz.
pub const CYCLE_NS: u64 = 5;
/// Cells of the histogram, one cycle each.
pub const CELLS_COUNT: usize = 256;

/// The word that a firmware writes when it is ready.
pub const IS_READY: u32 = 0x4b54_494f;
/// Version of this layout.
pub const ABI: u32 = 1;

/// Offsets of the words in a block.
#[allow(missing_docs)] // The names are those of `pru/shared.inc`, which says what each is.
pub mod at {
    pub const MAGIC: usize = 0x00;
    pub const KIND: usize = 0x04;
    pub const STATE: usize = 0x08;
    pub const REFUSED: usize = 0x0c;
    pub const COMMAND: usize = 0x10;
    pub const FLAGS: usize = 0x14;
    pub const OUTPUT: usize = 0x18;
    pub const INPUT: usize = 0x1c;
    pub const COUNT: usize = 0x20;
    pub const WIDTH: usize = 0x24;
    pub const GAP: usize = 0x28;
    pub const BASE: usize = 0x2c;
    pub const DONE: usize = 0x40;
    pub const LEAST: usize = 0x44;
    pub const MOST: usize = 0x48;
    pub const BELOW: usize = 0x4c;
    pub const ABOVE: usize = 0x50;
    pub const SUM_LOW: usize = 0x54;
    pub const SUM_HIGH: usize = 0x58;
    pub const READ: usize = 0x5c;
    pub const LATE: usize = 0x60;
    pub const CELLS: usize = 0x400;
}

/// Values of [`at::STATE`].
#[allow(missing_docs)]
pub mod state {
    pub const IDLE: u32 = 1;
    pub const RUNNING: u32 = 2;
    pub const FINISHED: u32 = 3;
    pub const STOPPED: u32 = 4;
    pub const REFUSING: u32 = 5;
}

/// Bits of [`at::FLAGS`].
#[allow(missing_docs)]
pub mod flag {
    pub const INVERSE: u32 = 0;
    pub const REST_HIGH: u32 = 1;
}

/// Which program a PRU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Pulses on an output.
    Pulse,
    /// An output that follows an input.
    Response,
}

impl Kind {
    /// The word at [`at::KIND`].
    pub fn word(self) -> u32 {
        let number = match self {
            Kind::Pulse => 1,
            Kind::Response => 2,
        };
        ABI << 16 | number
    }

    /// Name of the file for this PRU.
    pub fn file(self, pru: u32) -> String {
        let name = match self {
            Kind::Pulse => "pulse",
            Kind::Response => "response",
        };
        format!("ontick-{name}-pru{pru}.elf")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// `.equ NAME, VALUE` of the firmware's source.
    fn firmware() -> BTreeMap<&'static str, u32> {
        let lines = include_str!("../../../../pru/shared.inc").lines();
        let equ = |line: &'static str| {
            let (name, value) = line.trim().strip_prefix(".equ")?.split_once(',')?;
            let value = value.split('#').next()?.trim();
            let number = value.strip_prefix("0x").map_or(value.parse(), |hex| u32::from_str_radix(hex, 16));
            Some((name.trim(), number.ok()?))
        };
        lines.filter_map(equ).collect()
    }

    #[test]
    fn host_and_firmware_agree_on_every_word() {
        let offsets = [
            ("MAGIC", at::MAGIC),
            ("KIND", at::KIND),
            ("STATE", at::STATE),
            ("REFUSED", at::REFUSED),
            ("COMMAND", at::COMMAND),
            ("FLAGS", at::FLAGS),
            ("OUTPUT", at::OUTPUT),
            ("INPUT", at::INPUT),
            ("COUNT", at::COUNT),
            ("WIDTH", at::WIDTH),
            ("GAP", at::GAP),
            ("BASE", at::BASE),
            ("DONE", at::DONE),
            ("LEAST", at::LEAST),
            ("MOST", at::MOST),
            ("BELOW", at::BELOW),
            ("ABOVE", at::ABOVE),
            ("SUM_LOW", at::SUM_LOW),
            ("SUM_HIGH", at::SUM_HIGH),
            ("READ", at::READ),
            ("LATE", at::LATE),
            ("CELLS", at::CELLS),
        ];
        let values = [
            ("ABI", ABI),
            ("KIND_PULSE", Kind::Pulse.word() & 0xffff),
            ("KIND_RESPONSE", Kind::Response.word() & 0xffff),
            ("IDLE", state::IDLE),
            ("RUNNING", state::RUNNING),
            ("FINISHED", state::FINISHED),
            ("STOPPED", state::STOPPED),
            ("REFUSING", state::REFUSING),
            ("INVERSE", flag::INVERSE),
            ("REST_HIGH", flag::REST_HIGH),
        ];
        let ours: BTreeMap<&str, u32> =
            offsets.into_iter().map(|(name, offset)| (name, offset as u32)).chain(values).collect();
        // What only the firmware uses.
        let own = ["CYCLE", "COUNTER_ENABLE"];
        let theirs: BTreeMap<&str, u32> = firmware().into_iter().filter(|(name, _)| !own.contains(name)).collect();
        assert_eq!(theirs, ours);
        assert!(include_str!("../../../../pru/shared.inc").contains("0x10000 + 0x1800 * PRU"));
        assert!(include_str!("../../../../pru/common.inc").contains(&format!("{IS_READY:#x}")));
    }
}
