//! 125 MHz for the system, 48 MHz for USB, both from the crystal of 12 MHz; a timer that counts its microseconds.

use crate::registers::{
    BUSCTRL, CLEAR, CLOCKS, PLL_SYS, PLL_USB, RESETS, TIMER, WATCHDOG, XOSC, await_bits, read, write,
};

/// What is used: bus control, DMA, pins and pads, both PIOs and PLLs, timer. USB comes later, as it needs its clock.
const USED: u32 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 8 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 21;

pub fn start() {
    // The crystal: 1 to 15 MHz, and a millisecond until it is steady.
    write(XOSC + 0x0c, 47);
    write(XOSC, 0x00fa_baa0);
    await_bits(XOSC + 0x04, 1 << 31);
    // The system runs from the crystal while its PLL is set up.
    write(CLOCKS + 0x30, 2);
    await_bits(CLOCKS + 0x38, 1 << 2);
    write(CLOCKS + 0x3c, 0);
    await_bits(CLOCKS + 0x44, 1);

    write(RESETS + CLEAR, USED);
    await_bits(RESETS + 0x08, USED);
    // 12 MHz * 125 / 6 / 2, and 12 MHz * 120 / 6 / 5.
    pll(PLL_SYS, 125, 6 << 16 | 2 << 12);
    pll(PLL_USB, 120, 6 << 16 | 5 << 12);
    write(CLOCKS + 0x40, 1 << 8);
    write(CLOCKS + 0x3c, 1);
    await_bits(CLOCKS + 0x44, 1 << 1);
    write(CLOCKS + 0x58, 1 << 8);
    write(CLOCKS + 0x54, 1 << 11);
    // A tick of the timer is 12 of the crystal.
    write(WATCHDOG + 0x2c, 1 << 9 | 12);
    // DMA before the processor, which can wait.
    write(BUSCTRL, 1 << 8 | 1 << 12);
}

fn pll(base: usize, feedback: u32, dividers: u32) {
    write(base, 1);
    write(base + 0x08, feedback);
    // Without power down, but with what follows off until it is locked.
    write(base + 0x04, 1 << 2 | 1 << 3);
    await_bits(base, 1 << 31);
    write(base + 0x0c, dividers);
    write(base + 0x04, 1 << 2);
}

/// Microseconds since power came.
pub fn now_us() -> u64 {
    loop {
        let high = read(TIMER + 0x24);
        let low = read(TIMER + 0x28);
        if read(TIMER + 0x24) == high {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}
