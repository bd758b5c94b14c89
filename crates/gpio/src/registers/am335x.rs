//! The lines of an AM335x, the processor of a BeagleBone (*AM335x Technical Reference Manual*, chapter 25).
//!
//! Two things must be right before a line can be used, and both are the kernel's:
//! - **Clock.** Each bank has one, and the kernel stops it while it uses none of the bank's lines; touching the bank
//!   then ends a program (a bus error). It is looked at before the bank is touched (chapter 8, CM_PER and CM_WKUP);
//!   whoever keeps one of the bank's lines open through the character device keeps it running.
//! - **Pin.** Mode 7 of the pad connects a pin with its bank, and only with the pad's receiver on can it be read.
//!   Pads ignore writes of programs (chapter 9: control module registers want privileged mode), so `config-pin` or a
//!   device tree overlay has to choose the mode and the resistor.

use super::layout::{Function, Layout, Pull, Registers, Words};

/// Lines of each of the four banks.
pub const BANK_LINES: u32 = 32;
/// A bank's registers take one page.
pub const BYTES: usize = 0x1000;
/// Where the banks are (table 2-2 and 2-3).
const BANKS: [u64; 4] = [0x44e0_7000, 0x4804_c000, 0x481a_c000, 0x481a_e000];
/// Where the clocks' registers are: CM_PER, and CM_WKUP 0x400 behind it.
pub const CLOCKS: u64 = 0x44e0_0000;
/// CM_WKUP_GPIO0_CLKCTRL, CM_PER_GPIO1_CLKCTRL, 2 and 3.
const CLOCK_CONTROLS: [usize; 4] = [0x408, 0xac, 0xb0, 0xb4];

/// Ones are inputs.
const GPIO_OE: usize = 0x134;
const GPIO_DATAIN: usize = 0x138;
const GPIO_CLEARDATAOUT: usize = 0x190;
const GPIO_SETDATAOUT: usize = 0x194;

/// The registers of one bank.
#[derive(Debug)]
pub struct Am335x;

/// Where the bank of this line is.
pub fn bank(line: u32) -> u64 {
    BANKS[(line / BANK_LINES) as usize]
}

/// Whether the clock of this line's bank runs, so that every access is granted: MODULEMODE says enabled, IDLEST says
/// neither in transition nor disabled.
pub fn is_clocked(clocks: &mut dyn Registers, line: u32) -> bool {
    let control = clocks.read(CLOCK_CONTROLS[(line / BANK_LINES) as usize]);
    let (mode, idle) = (control & 0b11, control >> 16 & 0b11);
    mode == 2 && (idle == 0 || idle == 2)
}

fn bit(line: u32) -> u32 {
    1 << (line % BANK_LINES)
}

impl Layout for Am335x {
    fn words(&self, line: u32) -> Words {
        Words { set: GPIO_SETDATAOUT, clear: GPIO_CLEARDATAOUT, level: GPIO_DATAIN, mask: bit(line) }
    }

    fn function(&self, registers: &mut dyn Registers, line: u32) -> Function {
        match registers.read(GPIO_OE) & bit(line) {
            0 => Function::Output,
            _ => Function::Input,
        }
    }

    fn listen(&self, registers: &mut dyn Registers, line: u32) {
        registers.change(GPIO_OE, bit(line), bit(line));
    }

    fn drive(&self, registers: &mut dyn Registers, line: u32) {
        registers.change(GPIO_OE, bit(line), 0);
    }

    fn pull(&self, _: &mut dyn Registers, _: u32, _: Pull) -> Result<(), &'static str> {
        Err("be held by a resistor: its pads ignore writes of programs (choose the resistor with config-pin, in the \
             device tree, or through the character device)")
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorder::Recorder;
    use super::*;

    #[test]
    fn a_zero_in_gpio_oe_drives() {
        let mut registers = Recorder::holding([(0x134, u32::MAX)]);
        assert_eq!(Am335x.function(&mut registers, 48), Function::Input);
        Am335x.drive(&mut registers, 48);
        assert_eq!(Am335x.function(&mut registers, 48), Function::Output);
        Am335x.listen(&mut registers, 48);
        assert_eq!(registers.writes, [(0x134, 0xfffe_ffff), (0x134, u32::MAX)]);
    }

    #[test]
    fn each_bank_has_its_clock() {
        for (line, bank_address, control) in
            [(0, 0x44e0_7000, 0x408), (63, 0x4804_c000, 0xac), (64, 0x481a_c000, 0xb0), (127, 0x481a_e000, 0xb4)]
        {
            assert_eq!(bank(line), bank_address);
            for (value, runs) in [(2, true), (0x2_0002, true), (0x3_0000, false), (0x1_0002, false), (0x3_0002, false)]
            {
                assert_eq!(is_clocked(&mut Recorder::holding([(control, value)]), line), runs, "{value:#x}");
            }
        }
    }
}
