//! One direction of an endpoint, with one buffer.

use super::descriptors::PACKET;
use crate::registers::{USB_MEMORY, read, write};

const FULL: u32 = 1 << 15;
const DATA1: u32 = 1 << 13;
const STALL: u32 = 1 << 11;
const AVAILABLE: u32 = 1 << 10;
const LENGTH: u32 = 0x3ff;

pub struct Endpoint {
    number: u8,
    to_host: bool,
    buffer: usize,
    next_is_data1: bool,
}

impl Endpoint {
    pub const fn new(number: u8, to_host: bool, buffer: usize) -> Self {
        Self { number, to_host, buffer, next_is_data1: false }
    }

    /// Of another than the control endpoint, which is always on.
    pub fn enable(&self, kind: u32) {
        let control = USB_MEMORY + 8 * usize::from(self.number) + if self.to_host { 0 } else { 4 };
        write(control, 1 << 31 | 1 << 29 | kind << 26 | self.buffer as u32);
    }

    /// Nothing is under way, and the next packet is DATA0.
    pub fn reset(&mut self) {
        self.next_is_data1 = false;
        write(self.buffer_control(), 0);
    }

    /// The next packet is DATA1, as the first after a set-up packet.
    pub fn expect_data1(&mut self) {
        self.next_is_data1 = true;
    }

    fn buffer_control(&self) -> usize {
        USB_MEMORY + 0x80 + 8 * usize::from(self.number) + if self.to_host { 0 } else { 4 }
    }

    /// Its bit in the register of buffers that are done.
    pub fn done(&self) -> u32 {
        1 << (2 * self.number + u8::from(!self.to_host))
    }

    /// Sends a packet of whole words.
    pub fn send(&mut self, words: &[u32], length: usize) {
        for (place, word) in words.iter().enumerate() {
            write(USB_MEMORY + self.buffer + 4 * place, *word);
        }
        self.hand_over(FULL | length as u32);
    }

    /// Sends a packet.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let mut words = [0; PACKET / 4];
        for (word, four) in words.iter_mut().zip(bytes.chunks(4)) {
            let mut padded = [0; 4];
            padded[..four.len()].copy_from_slice(four);
            *word = u32::from_le_bytes(padded);
        }
        self.send(&words, bytes.len());
    }

    /// Has room for a packet.
    pub fn receive(&mut self) {
        self.hand_over(PACKET as u32);
    }

    /// Refuses.
    pub fn stall(&self) {
        write(self.buffer_control(), STALL);
    }

    fn hand_over(&mut self, control: u32) {
        let control = control | if self.next_is_data1 { DATA1 } else { 0 };
        self.next_is_data1 = !self.next_is_data1;
        write(self.buffer_control(), control);
        // The controller's clock is slower: the buffer is its own a little after all else was written (4.1.2.5.1).
        for _ in 0..6 {
            read(self.buffer_control());
        }
        write(self.buffer_control(), control | AVAILABLE);
    }

    /// What was received, into a packet; how long it is.
    pub fn take(&self, to: &mut [u8; PACKET]) -> usize {
        for (place, four) in to.chunks_exact_mut(4).enumerate() {
            four.copy_from_slice(&read(USB_MEMORY + self.buffer + 4 * place).to_le_bytes());
        }
        ((read(self.buffer_control()) & LENGTH) as usize).min(PACKET)
    }
}
