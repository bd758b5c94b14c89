//! Registers of the RP2040, by their addresses in its datasheet.

pub const RESETS: usize = 0x4000_c000;
pub const CLOCKS: usize = 0x4000_8000;
pub const XOSC: usize = 0x4002_4000;
pub const PLL_SYS: usize = 0x4002_8000;
pub const PLL_USB: usize = 0x4002_c000;
pub const WATCHDOG: usize = 0x4005_8000;
pub const TIMER: usize = 0x4005_4000;
pub const BUSCTRL: usize = 0x4003_0000;
pub const IO_BANK0: usize = 0x4001_4000;
pub const PADS_BANK0: usize = 0x4001_c000;
pub const DMA: usize = 0x5000_0000;
pub const USB_MEMORY: usize = 0x5010_0000;
pub const USB: usize = 0x5011_0000;
pub const PIO0: usize = 0x5020_0000;
pub const PIO1: usize = 0x5030_0000;
pub const SIO: usize = 0xd000_0000;

/// Added to an address of the peripherals, it sets the bits that are written there.
pub const SET: usize = 0x2000;
/// Added to an address of the peripherals, it clears the bits that are written there.
pub const CLEAR: usize = 0x3000;

#[inline(always)]
pub fn read(address: usize) -> u32 {
    // SAFETY: a register, or memory that only peripherals write to; no Rust object lies there.
    unsafe { (address as *const u32).read_volatile() }
}

#[inline(always)]
pub fn write(address: usize, value: u32) {
    // SAFETY: a register, or the memory of the USB controller; no Rust object lies there.
    unsafe { (address as *mut u32).write_volatile(value) }
}

/// Waits until all these bits are set.
pub fn await_bits(address: usize, bits: u32) {
    while read(address) & bits != bits {}
}

/// Begins anew: to the host, the Pico was unplugged.
pub fn reset() -> ! {
    write(0xe000_ed0c, 0x05fa_0004);
    loop {
        core::hint::spin_loop();
    }
}
