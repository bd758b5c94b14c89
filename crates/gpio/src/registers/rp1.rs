//! The header's lines of an RP1, Raspberry Pi's peripheral chip on a Pi 5 (*RP1 Peripherals*, chapter 3).
//!
//! Three blocks work together: `io_bank0` connects a pin with a peripheral, `sys_rio0` is the peripheral that lets the
//! processors set and read pins, `pads_bank0` holds the electrical side. Every block is there four times: to read and
//! write, and at fixed distances to flip, set and clear the bits that are written (section 2.4).

use super::layout::{Function, Layout, Pull, Registers, Words};

/// Lines of bank 0, the header's. Those of the other banks serve the board itself.
pub const LINES: u32 = 28;
/// The three blocks and all between them, as `/dev/gpiomem0` shows them.
pub const BYTES: usize = 0x3_0000;
/// Where `io_bank0` is in the chip's second PCI Express region.
pub const IN_BAR1: u64 = 0xd_0000;

/// From the start of `io_bank0`.
const SYS_RIO0: usize = 0x1_0000;
const PADS_BANK0: usize = 0x2_0000;

/// What is written there is set.
const SET: usize = 0x2000;
/// What is written there is cleared.
const CLEAR: usize = 0x3000;

/// Registers of `sys_rio0`, a bit for each line. The level passes two flip-flops first.
const RIO_OUT: usize = SYS_RIO0;
const RIO_OE: usize = SYS_RIO0 + 0x4;
const RIO_SYNC_IN: usize = SYS_RIO0 + 0x8;

/// Fields of GPIOn_CTRL.
const FUNCSEL: u32 = 0x1f;
const OUTOVER: u32 = 0b11 << 12;
const OEOVER: u32 = 0b11 << 14;
/// Functions: `sys_rio`, and none.
const SYS_RIO: u32 = 5;
const NONE: u32 = 0x1f;

/// Bits of a pad.
const OUTPUT_DISABLE: u32 = 1 << 7;
const INPUT_ENABLE: u32 = 1 << 6;
const PULL_UP: u32 = 1 << 3;
const PULL_DOWN: u32 = 1 << 2;

/// The registers of an RP1.
#[derive(Debug)]
pub struct Rp1;

/// GPIOn_CTRL in `io_bank0`: status and control follow each other.
fn control(line: u32) -> usize {
    8 * line as usize + 4
}

/// The line's word in `pads_bank0`, after the one that chooses the voltage.
fn pad(line: u32) -> usize {
    PADS_BANK0 + 4 + 4 * line as usize
}

/// Connects the pin with `sys_rio0`, nothing overridden.
fn connect(registers: &mut dyn Registers, line: u32) {
    registers.change(pad(line), OUTPUT_DISABLE | INPUT_ENABLE, INPUT_ENABLE);
    registers.change(control(line), FUNCSEL | OUTOVER | OEOVER, SYS_RIO);
}

impl Layout for Rp1 {
    fn words(&self, line: u32) -> Words {
        Words { set: RIO_OUT + SET, clear: RIO_OUT + CLEAR, level: RIO_SYNC_IN, mask: 1 << line }
    }

    fn function(&self, registers: &mut dyn Registers, line: u32) -> Function {
        match registers.read(control(line)) & FUNCSEL {
            SYS_RIO if registers.read(RIO_OE) >> line & 1 == 1 => Function::Output,
            SYS_RIO | NONE => Function::Input,
            0 => Function::Peripheral("alt0"),
            1 => Function::Peripheral("alt1"),
            2 => Function::Peripheral("alt2"),
            3 => Function::Peripheral("alt3"),
            4 => Function::Peripheral("alt4"),
            6 => Function::Peripheral("alt6, PROC_RIO"),
            7 => Function::Peripheral("alt7, PIO"),
            8 => Function::Peripheral("alt8"),
            _ => Function::Peripheral("reserved"),
        }
    }

    fn receives(&self, registers: &mut dyn Registers, line: u32) -> bool {
        registers.read(pad(line)) & INPUT_ENABLE != 0
    }

    fn listen(&self, registers: &mut dyn Registers, line: u32) {
        registers.write(RIO_OE + CLEAR, 1 << line);
        connect(registers, line);
    }

    fn drive(&self, registers: &mut dyn Registers, line: u32) {
        registers.write(RIO_OE + SET, 1 << line);
        connect(registers, line);
    }

    fn pull(&self, registers: &mut dyn Registers, line: u32, pull: Pull) -> Result<(), &'static str> {
        let resistor = match pull {
            Pull::Off => 0,
            Pull::Down => PULL_DOWN,
            Pull::Up => PULL_UP,
        };
        registers.change(pad(line), PULL_UP | PULL_DOWN, resistor);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorder::Recorder;
    use super::*;

    /// GPIO17: its pad and its control as they are after reset, and the other bits of both.
    const PAD: usize = 0x2_0048;
    const CONTROL: usize = 0x8c;

    #[test]
    fn an_output_is_enabled_before_its_pin_is_connected() {
        let mut registers = Recorder::holding([(PAD, 0x96), (CONTROL, 0x0ff0_f09f)]);
        assert_eq!(Rp1.function(&mut registers, 17), Function::Input);
        Rp1.drive(&mut registers, 17);
        assert_eq!(registers.writes, [(0x1_2004, 1 << 17), (PAD, 0x56), (CONTROL, 0x0ff0_0085)]);
    }

    #[test]
    fn an_input_is_driven_no_more_and_its_pad_receives() {
        let mut registers = Recorder::holding([(PAD, 0x96), (CONTROL, 0x85), (0x1_0004, 1 << 17)]);
        assert_eq!(Rp1.function(&mut registers, 17), Function::Output);
        Rp1.listen(&mut registers, 17);
        assert_eq!(registers.writes, [(0x1_3004, 1 << 17), (PAD, 0x56), (CONTROL, 0x85)]);
    }

    #[test]
    fn a_resistor_leaves_the_rest_of_the_pad_alone() {
        for (pull, after) in [(Pull::Off, 0xf3), (Pull::Down, 0xf7), (Pull::Up, 0xfb)] {
            let mut registers = Recorder::holding([(PAD, 0xff)]);
            Rp1.pull(&mut registers, 17, pull).unwrap();
            assert_eq!(registers.writes, [(PAD, after)]);
        }
    }

    #[test]
    fn a_pin_that_serves_a_peripheral_is_seen() {
        for code in [0, 1, 2, 3, 4, 6, 7, 8] {
            let mut registers = Recorder::holding([(CONTROL, code)]);
            assert!(
                matches!(Rp1.function(&mut registers, 17), Function::Peripheral(name) if name.contains(&code.to_string()))
            );
        }
    }
}
