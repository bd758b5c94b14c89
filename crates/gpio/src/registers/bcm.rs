//! The lines of a BCM2835, 2836, 2837 (*BCM2835 ARM Peripherals*, chapter 6) and 2711 (*BCM2711 ARM Peripherals*,
//! chapter 5): the same registers but for the resistors.

use std::thread::sleep;
use std::time::Duration;

use super::layout::{Function, Layout, Pull, Registers, Words};

/// GPFSEL0, the first of six words with three bits for each of ten lines.
const GPFSEL0: usize = 0x00;
/// GPSET0 and GPSET1: ones set.
const GPSET0: usize = 0x1c;
/// GPCLR0 and GPCLR1: ones clear.
const GPCLR0: usize = 0x28;
/// GPLEV0 and GPLEV1: what is on the wires.
const GPLEV0: usize = 0x34;
/// GPPUD of a BCM2835: what the next clock does.
const GPPUD: usize = 0x94;
/// GPPUDCLK0 and GPPUDCLK1 of a BCM2835: for whom.
const GPPUDCLK0: usize = 0x98;
/// GPIO_PUP_PDN_CNTRL_REG0 of a BCM2711, the first of four words with two bits for each of sixteen lines.
const GPIO_PUP_PDN_CNTRL_REG0: usize = 0xe4;

/// The registers take one page.
pub const BYTES: usize = 0x1000;
/// Where they are for the peripherals' own bus; the device tree tells where the processors see that.
pub const BUS_ADDRESS: u64 = 0x7e20_0000;

/// Function codes, as in the table of GPFSEL.
const INPUT: u32 = 0b000;
const OUTPUT: u32 = 0b001;

/// GPPUD wants 150 cycles of set-up and hold time. These are 37 500 of them at 250 MHz, and still 150 of a peripheral
/// clocked at 1 MHz.
const SETTLE: Duration = Duration::from_micros(150);

/// How resistors are chosen.
#[derive(Debug)]
enum Resistors {
    /// A value that is clocked into lines; it cannot be read back.
    Clocked,
    /// A field for each line.
    Fields,
}

/// The registers of one of these chips.
#[derive(Debug)]
pub struct Bcm(Resistors);

/// Raspberry Pi 0 to 3.
pub const BCM2835: Bcm = Bcm(Resistors::Clocked);
/// Raspberry Pi 4.
pub const BCM2711: Bcm = Bcm(Resistors::Fields);

/// The word of this line where each has so many bits, and its first bit there.
fn field(first: usize, line: u32, bits: u32) -> (usize, u32) {
    let per_word = 32 / bits;
    (first + 4 * (line / per_word) as usize, line % per_word * bits)
}

fn select(registers: &mut dyn Registers, line: u32, function: u32) {
    let (word, shift) = field(GPFSEL0, line, 3);
    registers.change(word, 0b111 << shift, function << shift);
}

impl Layout for Bcm {
    fn words(&self, line: u32) -> Words {
        let at = |first| field(first, line, 1).0;
        Words { set: at(GPSET0), clear: at(GPCLR0), level: at(GPLEV0), mask: 1 << (line % 32) }
    }

    fn function(&self, registers: &mut dyn Registers, line: u32) -> Function {
        let (word, shift) = field(GPFSEL0, line, 3);
        match registers.read(word) >> shift & 0b111 {
            INPUT => Function::Input,
            OUTPUT => Function::Output,
            0b100 => Function::Peripheral("ALT0"),
            0b101 => Function::Peripheral("ALT1"),
            0b110 => Function::Peripheral("ALT2"),
            0b111 => Function::Peripheral("ALT3"),
            0b011 => Function::Peripheral("ALT4"),
            _ => Function::Peripheral("ALT5"),
        }
    }

    fn listen(&self, registers: &mut dyn Registers, line: u32) {
        select(registers, line, INPUT);
    }

    fn drive(&self, registers: &mut dyn Registers, line: u32) {
        select(registers, line, OUTPUT);
    }

    fn pull(&self, registers: &mut dyn Registers, line: u32, pull: Pull) -> Result<(), &'static str> {
        match self.0 {
            Resistors::Clocked => clock_in(registers, line, pull),
            Resistors::Fields => {
                let (word, shift) = field(GPIO_PUP_PDN_CNTRL_REG0, line, 2);
                let code = match pull {
                    Pull::Off => 0b00,
                    Pull::Up => 0b01,
                    Pull::Down => 0b10,
                };
                registers.change(word, 0b11 << shift, code << shift);
            }
        }
        Ok(())
    }
}

/// The six steps under GPPUDCLKn in the manual.
fn clock_in(registers: &mut dyn Registers, line: u32, pull: Pull) {
    let (clock, shift) = field(GPPUDCLK0, line, 1);
    let code = match pull {
        Pull::Off => 0b00,
        Pull::Down => 0b01,
        Pull::Up => 0b10,
    };
    registers.write(GPPUD, code);
    sleep(SETTLE);
    registers.write(clock, 1 << shift);
    sleep(SETTLE);
    registers.write(GPPUD, 0);
    registers.write(clock, 0);
}

#[cfg(test)]
mod tests {
    use super::super::recorder::Recorder;
    use super::*;

    #[test]
    fn the_function_of_one_line_changes_and_no_other() {
        for (line, word, before, input, output) in [
            (17, 0x04, 0x3fff_ffff, 0x3f1f_ffff, 0x3f3f_ffff),
            (0, 0x00, 0o7_777_777_777, 0o7_777_777_770, 0o7_777_777_771),
            (53, 0x14, 0o7777, 0o0777, 0o1777),
            (20, 0x08, 0, 0, 1),
        ] {
            let mut registers = Recorder::holding([(word, before)]);
            BCM2835.listen(&mut registers, line);
            assert_eq!(BCM2835.function(&mut registers, line), Function::Input);
            BCM2711.drive(&mut registers, line);
            assert_eq!(BCM2711.function(&mut registers, line), Function::Output);
            assert_eq!(registers.writes, [(word, input), (word, output)], "line {line}");
        }
    }

    #[test]
    fn functions_have_the_names_of_the_manual() {
        let names = ["", "", "ALT5", "ALT4", "ALT0", "ALT1", "ALT2", "ALT3"];
        for (code, name) in names.into_iter().enumerate().skip(2) {
            let mut registers = Recorder::holding([(0x04, (code as u32) << 12)]);
            assert_eq!(BCM2835.function(&mut registers, 14), Function::Peripheral(name));
        }
    }

    #[test]
    fn a_resistor_of_a_bcm2835_is_clocked_in_and_the_clock_taken_away_again() {
        for (pull, code) in [(Pull::Off, 0), (Pull::Down, 1), (Pull::Up, 2)] {
            for (line, clock, bit) in [(17, 0x98, 1 << 17), (33, 0x9c, 1 << 1)] {
                let mut registers = Recorder::default();
                BCM2835.pull(&mut registers, line, pull).unwrap();
                assert_eq!(registers.writes, [(0x94, code), (clock, bit), (0x94, 0), (clock, 0)]);
            }
        }
    }

    #[test]
    fn a_resistor_of_a_bcm2711_is_a_field_of_two_bits() {
        for (pull, line, word, after) in [
            (Pull::Up, 17, 0xe8, 0xffff_fff7),
            (Pull::Down, 17, 0xe8, 0xffff_fffb),
            (Pull::Off, 17, 0xe8, 0xffff_fff3),
            (Pull::Off, 0, 0xe4, 0xffff_fffc),
            (Pull::Down, 57, 0xf0, 0xfffb_ffff),
        ] {
            let mut registers = Recorder::holding([(word, u32::MAX)]);
            BCM2711.pull(&mut registers, line, pull).unwrap();
            assert_eq!(registers.writes, [(word, after)], "{pull:?} of line {line}");
        }
    }
}
