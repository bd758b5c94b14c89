//! The USB controller as a device (RP2040 datasheet, 4.1). One packet each way is under way at a time.

mod control;
mod descriptors;
mod endpoint;

use crate::queue::Queue;
use crate::registers::{CLEAR, RESETS, SET, USB, USB_MEMORY, await_bits, read, write};
use control::Control;
use descriptors::{BYTES, NOTIFY, PACKET};
use endpoint::Endpoint;

const ADDRESS: usize = USB;
const MAIN_CTRL: usize = USB + 0x40;
const SIE_CTRL: usize = USB + 0x4c;
const SIE_STATUS: usize = USB + 0x50;
const BUFF_STATUS: usize = USB + 0x58;
const MUXING: usize = USB + 0x74;
const POWER: usize = USB + 0x78;

const BUS_RESET: u32 = 1 << 19;
const SETUP_RECEIVED: u32 = 1 << 17;

const BULK: u32 = 2;
const INTERRUPT: u32 = 3;

pub struct Usb {
    control: Control,
    to_host: Endpoint,
    from_host: Endpoint,
    is_sending: bool,
    packet: [u8; PACKET],
    received: usize,
    taken: usize,
    host_left: bool,
}

impl Usb {
    /// Connected.
    pub fn start() -> Self {
        write(RESETS + SET, 1 << 24);
        write(RESETS + CLEAR, 1 << 24);
        await_bits(RESETS + 0x08, 1 << 24);
        (0..1024).for_each(|word| write(USB_MEMORY + 4 * word, 0));
        // To the pins; the host's supply is not looked at.
        write(MUXING, 1 << 3 | 1);
        write(POWER, 1 << 3 | 1 << 2);
        write(MAIN_CTRL, 1);
        // The control endpoint reports each buffer.
        write(SIE_CTRL, 1 << 29);
        let usb = Self {
            control: Control::default(),
            to_host: Endpoint::new(BYTES, true, 0x180),
            from_host: Endpoint::new(BYTES, false, 0x1c0),
            is_sending: false,
            packet: [0; PACKET],
            received: 0,
            taken: 0,
            host_left: false,
        };
        usb.to_host.enable(BULK);
        usb.from_host.enable(BULK);
        Endpoint::new(NOTIFY, true, 0x200).enable(INTERRUPT);
        // The resistor that tells the host of a device.
        write(SIE_CTRL + SET, 1 << 16);
        usb
    }

    pub fn service(&mut self) {
        let status = read(SIE_STATUS);
        if status & BUS_RESET != 0 {
            write(SIE_STATUS, BUS_RESET);
            write(ADDRESS, 0);
            self.reset();
        }
        if status & SETUP_RECEIVED != 0 {
            write(SIE_STATUS, SETUP_RECEIVED);
            self.control.set_up();
            self.host_left |= self.control.take_host_left();
            if self.control.take_configured() {
                self.reset();
                self.from_host.receive();
            }
        }
        let done = read(BUFF_STATUS);
        if done == 0 {
            return;
        }
        write(BUFF_STATUS, done);
        if done & 1 != 0 {
            self.control.sent();
        }
        if done & 2 != 0 {
            self.control.received();
        }
        if done & self.to_host.done() != 0 {
            self.is_sending = false;
        }
        if done & self.from_host.done() != 0 {
            self.received = self.from_host.take(&mut self.packet);
            self.taken = 0;
            if self.received == 0 {
                self.from_host.receive();
            }
        }
    }

    fn reset(&mut self) {
        self.to_host.reset();
        self.from_host.reset();
        (self.is_sending, self.received, self.taken) = (false, 0, 0);
        self.host_left = true;
    }

    /// Whether the program at the other end has gone since the last call.
    pub fn host_left(&mut self) -> bool {
        core::mem::take(&mut self.host_left)
    }

    /// The next byte from the host.
    pub fn received(&mut self) -> Option<u8> {
        if self.taken == self.received {
            return None;
        }
        let byte = self.packet[self.taken];
        self.taken += 1;
        if self.taken == self.received {
            (self.taken, self.received) = (0, 0);
            self.from_host.receive();
        }
        Some(byte)
    }

    /// Sends the first frame of the queue, if the one before has gone.
    pub fn send(&mut self, queue: &mut Queue) {
        if self.is_sending || !self.control.is_open {
            return;
        }
        if let Some((words, length)) = queue.first() {
            self.to_host.send(words, length);
            self.is_sending = true;
            queue.drop_first();
        }
    }
}
