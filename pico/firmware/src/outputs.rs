//! The two pins that are driven: reference pulses, and answers to a line.

use ontick_pico::{ANSWER_PIN, LINES, PULSE_PIN, Refusal, SHORTEST_HIGH, SHORTEST_LOW, SOONEST_ANSWER};
use pio_core::{MovDestination, MovOperation, MovSource, SetDestination};

use crate::pio::{self, Loaded, Machine};
use crate::programs::{self, instruction};
use crate::registers::{IO_BANK0, PADS_BANK0, PIO1, write};

const PULSES: Machine = Machine { pio: PIO1, index: 0 };
const ANSWERS: Machine = Machine { pio: PIO1, index: 1 };
/// A pin that the second PIO drives.
const OF_PIO1: u32 = 7;

pub struct Outputs {
    pulses: Loaded,
    answers: Loaded,
}

impl Outputs {
    /// Both low.
    pub fn new() -> Self {
        let pulses = programs::pulses();
        let answers_at = pulses.code.len() as u32;
        let outputs =
            Self { pulses: pio::load(PIO1, 0, &pulses), answers: pio::load(PIO1, answers_at, &programs::answers()) };
        outputs.stop();
        for pin in [PULSE_PIN, ANSWER_PIN] {
            // An input as well, so that it can be looked at; slew rate and strength as after reset.
            write(PADS_BANK0 + 4 + 4 * usize::from(pin), 0x52);
            write(IO_BANK0 + 4 + 8 * usize::from(pin), OF_PIO1);
        }
        outputs
    }

    /// Ends pulses and answers; both pins are low.
    pub fn stop(&self) {
        self.set_up(PULSES, self.pulses, PULSE_PIN, 1 << 29 | u32::from(PULSE_PIN) << 10);
        self.set_up(ANSWERS, self.answers, ANSWER_PIN, 0);
    }

    /// At the beginning of its program, its pin low.
    fn set_up(&self, machine: Machine, program: Loaded, pin: u8, pins: u32) {
        // Pins of `set`: this one.
        machine.set_up(program, 3 << 18, 1 << 26 | u32::from(pin) << 5 | pins);
        machine.execute(instruction(|a| a.set(SetDestination::PINS, 0)));
        machine.execute(instruction(|a| a.set(SetDestination::PINDIRS, 1)));
    }

    pub fn pulse(&self, high: u32, low: u32, count: u32) -> Result<(), Refusal> {
        if count > 0 && (high < SHORTEST_HIGH || low < SHORTEST_LOW) {
            return Err(Refusal::OutOfRange);
        }
        self.set_up(PULSES, self.pulses, PULSE_PIN, 1 << 29 | u32::from(PULSE_PIN) << 10);
        if count > 0 {
            [low - SHORTEST_LOW, count - 1, high - SHORTEST_HIGH].into_iter().for_each(|word| PULSES.send(word));
            pio::start(PIO1, 1 << PULSES.index);
        }
        Ok(())
    }

    pub fn answer(&self, line: u8, after: u32) -> Result<(), Refusal> {
        if line >= LINES || (after > 0 && after < SOONEST_ANSWER) {
            return Err(Refusal::OutOfRange);
        }
        self.set_up(ANSWERS, self.answers, ANSWER_PIN, u32::from(line) << 15);
        if after > 0 {
            ANSWERS.send(after - SOONEST_ANSWER);
            ANSWERS.execute(instruction(|a| a.pull(false, true)));
            // The pull was its first use of the word; ISR and X are not needed.
            ANSWERS.execute(instruction(|a| a.mov(MovDestination::X, MovOperation::None, MovSource::NULL)));
            pio::start(PIO1, 1 << ANSWERS.index);
        }
        Ok(())
    }
}
