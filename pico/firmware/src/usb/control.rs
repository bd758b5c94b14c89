//! Requests to the device: USB 2.0, chapter 9, and those of the communications class that Linux makes.

use super::ADDRESS;
use super::descriptors::{PACKET, descriptor};
use super::endpoint::Endpoint;
use crate::registers::{USB, USB_MEMORY, read, write};

const STALL_ARM: usize = USB + 0x68;

/// A terminal's speed and such: kept for whoever asks, and of no effect.
const LINE_CODING: [u8; 7] = [0x00, 0xc2, 0x01, 0x00, 0, 0, 8];

pub struct Control {
    to_host: Endpoint,
    from_host: Endpoint,
    data: [u8; 128],
    sent: usize,
    length: usize,
    /// An empty packet ends the data.
    ends_empty: bool,
    /// Data come to the host, and then its acknowledgement.
    is_in: bool,
    address: Option<u8>,
    host_left: bool,
    configured: bool,
    /// A program has opened the port.
    pub is_open: bool,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            to_host: Endpoint::new(0, true, 0x100),
            from_host: Endpoint::new(0, false, 0x100),
            data: [0; 128],
            sent: 0,
            length: 0,
            ends_empty: false,
            is_in: false,
            address: None,
            host_left: false,
            configured: false,
            is_open: false,
        }
    }
}

impl Control {
    pub fn take_host_left(&mut self) -> bool {
        core::mem::take(&mut self.host_left)
    }

    pub fn take_configured(&mut self) -> bool {
        core::mem::take(&mut self.configured)
    }

    /// A set-up packet came.
    pub fn set_up(&mut self) {
        let [low, high] = [read(USB_MEMORY).to_le_bytes(), read(USB_MEMORY + 4).to_le_bytes()];
        let [kind, request, value, value_high] = low;
        let wanted = usize::from(u16::from_le_bytes([high[2], high[3]]));
        self.to_host.expect_data1();
        self.from_host.expect_data1();
        match (kind, request) {
            (0x80, 6) => match descriptor(value_high, value, &mut self.data) {
                Some(length) => self.answer(length, wanted),
                None => self.refuse(),
            },
            // Status of the device, an interface or an endpoint.
            (0x80..=0x82, 0) => self.answer_with(&[0, 0], wanted),
            (0x80, 8) => self.answer_with(&[1], wanted),
            (0x81, 10) => self.answer_with(&[0], wanted),
            (0x00, 5) => {
                self.address = Some(value & 0x7f);
                self.acknowledge();
            }
            (0x00, 9) => {
                self.configured = value == 1;
                self.is_open = false;
                self.acknowledge();
            }
            // Features, and an interface's only setting.
            (0x00..=0x02, 1 | 3) | (0x01, 11) => self.acknowledge(),
            (0xa1, 0x21) => self.answer_with(&LINE_CODING, wanted),
            (0x21, 0x20) => {
                self.is_in = false;
                self.from_host.receive();
            }
            (0x20 | 0x21, 0x22) => {
                let is_open = value & 1 == 1;
                self.host_left |= self.is_open && !is_open;
                self.is_open = is_open;
                self.acknowledge();
            }
            (0x21, 0x23) => self.acknowledge(),
            _ => self.refuse(),
        }
    }

    fn answer_with(&mut self, bytes: &[u8], wanted: usize) {
        self.data[..bytes.len()].copy_from_slice(bytes);
        self.answer(bytes.len(), wanted);
    }

    fn answer(&mut self, length: usize, wanted: usize) {
        (self.sent, self.length) = (0, length.min(wanted));
        self.ends_empty = length < wanted && length % PACKET == 0;
        self.is_in = true;
        self.send_on();
    }

    fn send_on(&mut self) {
        let end = self.length.min(self.sent + PACKET);
        let part = self.sent..end;
        self.sent = end;
        self.to_host.send_bytes(&self.data[part]);
    }

    /// An empty packet: done.
    fn acknowledge(&mut self) {
        self.is_in = false;
        self.to_host.send_bytes(&[]);
    }

    fn refuse(&mut self) {
        write(STALL_ARM, 3);
        self.to_host.stall();
        self.from_host.stall();
    }

    /// A packet has gone to the host.
    pub fn sent(&mut self) {
        if let Some(address) = self.address.take() {
            // Not before the host has heard of it by the old one.
            write(ADDRESS, u32::from(address));
        }
        if !self.is_in {
            return;
        }
        if self.sent < self.length {
            self.send_on();
        } else if core::mem::take(&mut self.ends_empty) {
            self.to_host.send_bytes(&[]);
        } else {
            // The host's acknowledgement.
            self.from_host.expect_data1();
            self.from_host.receive();
        }
    }

    /// A packet has come from the host: data, which are of no effect, or its acknowledgement.
    pub fn received(&mut self) {
        if !self.is_in {
            self.to_host.expect_data1();
            self.acknowledge();
        }
    }
}
