//! Times the edges of eight lines of a Raspberry Pi Pico to 8 ns, and tells the host (docs/pico.md). One loop, no
//! interrupts: PIO and DMA do what must be on time.
#![no_std]
#![no_main]

mod bank;
mod boot;
mod capture;
mod clocks;
mod dma;
mod outputs;
mod pio;
mod programs;
mod queue;
mod registers;
mod usb;

use ontick_pico::{Command, LINES, Message, Reader, Refusal, TICKS_PER_SECOND, VERSION};

use capture::Capture;
use outputs::Outputs;
use queue::Queue;
use registers::{PADS_BANK0, write};
use usb::Usb;

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    clocks::start();
    for line in 0..usize::from(LINES) {
        // An input with a resistor to ground and a Schmitt trigger, never an output.
        write(PADS_BANK0 + 4 + 4 * line, 0xc6);
    }
    // SAFETY: here alone.
    let queue = unsafe { Queue::new() };
    let mut pico = Pico { capture: Capture::new(), outputs: Outputs::new(), queue, reader: Reader::default() };
    let mut usb = Usb::start();
    loop {
        usb.service();
        if usb.host_left() {
            pico.rest();
        }
        while let Some(byte) = usb.received() {
            pico.hear(byte);
        }
        pico.capture.service(&mut pico.queue);
        usb.send(&mut pico.queue);
    }
}

struct Pico {
    capture: Capture,
    outputs: Outputs,
    queue: Queue,
    reader: Reader,
}

impl Pico {
    /// Nobody listens any more.
    fn rest(&mut self) {
        self.capture.stop(&mut self.queue);
        self.outputs.stop();
        self.queue.clear();
        self.reader = Reader::default();
    }

    fn hear(&mut self, byte: u8) {
        let Some(frame) = self.reader.take(byte) else { return };
        let command = Command::read(&frame);
        let done = match command {
            Some(command) => self.follow(command),
            None => Err(Refusal::Unknown),
        };
        self.queue.say(&Message::Done { command: frame.kind, refusal: done.err() });
    }

    fn follow(&mut self, command: Command) -> Result<(), Refusal> {
        match command {
            Command::Hello { version } => {
                // Whoever was here before has gone, and left this as it was.
                self.capture.stop(&mut self.queue);
                self.outputs.stop();
                self.queue.clear();
                self.queue.say(&Message::Info { version: VERSION, ticks_per_second: TICKS_PER_SECOND, lines: LINES });
                if version == VERSION { Ok(()) } else { Err(Refusal::Unknown) }
            }
            Command::Start => {
                self.capture.stop(&mut self.queue);
                self.capture.start();
                Ok(())
            }
            Command::Stop => {
                self.capture.stop(&mut self.queue);
                Ok(())
            }
            Command::Pulses { high, low, count } => self.outputs.pulse(high, low, count),
            Command::Answer { line, after } => self.outputs.answer(line, after),
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    registers::reset()
}
