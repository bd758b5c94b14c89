//! State machines of a PIO.

use pio_core::{JmpCondition, MovDestination, MovOperation, MovSource, Program};

use crate::programs::instruction;
use crate::registers::{CLEAR, read, write};

const CTRL: usize = 0x00;
const FSTAT: usize = 0x04;
const FDEBUG: usize = 0x08;
const TXF: usize = 0x10;
const RXF: usize = 0x20;
const INSTRUCTIONS: usize = 0x48;
const CLKDIV: usize = 0xc8;
const EXECCTRL: usize = 0xcc;
const SHIFTCTRL: usize = 0xd0;
const INSTR: usize = 0xd8;
const PINCTRL: usize = 0xdc;

/// Where a program lies in a PIO's memory.
#[derive(Clone, Copy)]
pub struct Loaded {
    offset: u32,
    wrap: u32,
}

/// Puts a program into the memory of a PIO.
pub fn load(pio: usize, offset: u32, program: &Program<32>) -> Loaded {
    for (place, word) in program.code.iter().enumerate() {
        // A jump names its target from the program's beginning.
        let word = u32::from(*word);
        let moved = if word >> 13 == 0 { word + offset } else { word };
        write(pio + INSTRUCTIONS + 4 * (offset as usize + place), moved);
    }
    let (source, target) = (u32::from(program.wrap.source) + offset, u32::from(program.wrap.target) + offset);
    Loaded { offset, wrap: source << 12 | target << 7 }
}

/// One of the four state machines of a PIO.
#[derive(Clone, Copy)]
pub struct Machine {
    pub pio: usize,
    pub index: usize,
}

impl Machine {
    fn register(self, register: usize) -> usize {
        self.pio + register + 0x18 * self.index
    }

    /// Stopped, without anything left in its queues, at the beginning of a program.
    pub fn set_up(self, program: Loaded, shift: u32, pins: u32) {
        self.stop();
        write(self.pio + CTRL + crate::registers::SET, 1 << 4 << self.index);
        write(self.register(CLKDIV), 1 << 16);
        write(self.register(EXECCTRL), program.wrap);
        write(self.register(SHIFTCTRL), shift);
        write(self.register(PINCTRL), pins);
        while read(self.pio + FSTAT) >> (8 + self.index) & 1 == 0 {
            read(self.received_address());
        }
        while read(self.pio + FSTAT) >> (24 + self.index) & 1 == 0 {
            self.execute(instruction(|a| a.pull(false, false)));
        }
        self.execute(instruction(|a| {
            a.mov(MovDestination::ISR, MovOperation::None, MovSource::NULL);
        }));
        let jump = instruction(|a| {
            let mut begin = a.label_at_offset(program.offset as u8);
            a.jmp(JmpCondition::Always, &mut begin);
        });
        self.execute(jump);
    }

    pub fn stop(self) {
        write(self.pio + CTRL + CLEAR, 1 << self.index);
    }

    /// Has it execute an instruction now.
    pub fn execute(self, instruction: u32) {
        write(self.register(INSTR), instruction);
    }

    pub fn send(self, word: u32) {
        write(self.sent_address(), word);
    }

    /// Where DMA puts words for it.
    pub fn sent_address(self) -> usize {
        self.pio + TXF + 4 * self.index
    }

    /// Where DMA takes words from it.
    pub fn received_address(self) -> usize {
        self.pio + RXF + 4 * self.index
    }
}

/// Starts several machines of a PIO at the same tick.
pub fn start(pio: usize, machines: u32) {
    write(pio + CTRL + crate::registers::SET, machines);
}

/// Stops several at the same tick.
pub fn stop(pio: usize, machines: u32) {
    write(pio + CTRL + CLEAR, machines);
}

/// Whether machines of the first kind had to wait for room, or those of the second had none, since the last call.
pub fn overflowed(pio: usize, waited: u32, full: u32) -> bool {
    let bits = waited | full << 16;
    let seen = read(pio + FDEBUG) & bits;
    write(pio + FDEBUG, seen);
    seen != 0
}
