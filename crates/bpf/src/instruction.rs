//! Instructions, in the terms of Documentation/bpf/standardization/instruction-set.rst.

/// `struct bpf_insn`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

impl Instruction {
    /// Where it jumps to, or what it reads or writes, from a base.
    pub const fn offset(&self) -> i16 {
        self.offset
    }

    /// The same with another offset.
    pub const fn with_offset(self, offset: i16) -> Self {
        Self { offset, ..self }
    }
}

/// One instruction.
pub const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    Instruction { code, registers, offset, value }
}

/// To a register, of memory.
pub const LOAD_64: u8 = 0x79;
/// See above.
pub const LOAD_32: u8 = 0x61;
/// See above.
pub const LOAD_16: u8 = 0x69;
/// To a register; its upper half is the value of the next instruction.
pub const LOAD_IMMEDIATE_64: u8 = 0x18;
/// To memory, of a register.
pub const STORE_64: u8 = 0x7b;
/// See above.
pub const STORE_32: u8 = 0x63;
/// See above.
pub const STORE_16: u8 = 0x6b;
/// To memory, the value.
pub const STORE_VALUE_32: u8 = 0x62;
/// To a register, of a register.
pub const MOVE: u8 = 0xbf;
/// The lower half; the upper one becomes zero.
pub const MOVE_32: u8 = 0xbc;
/// To a register, the value.
pub const SET: u8 = 0xb7;
/// To a register, the sum with the value.
pub const ADD: u8 = 0x07;
/// To a register, the sum with another one.
pub const ADD_REGISTER: u8 = 0x0f;
/// To a register, the bits that the value has too.
pub const AND: u8 = 0x57;
/// To a register, the bits of another one too.
pub const OR: u8 = 0x4f;
/// To a register, the bits of the value too.
pub const OR_VALUE: u8 = 0x47;
/// A register, by so many bits.
pub const SHIFT_LEFT: u8 = 0x67;
/// To memory and a register, at once for all CPUs: which of those below, the value says.
pub const ATOMIC_64: u8 = 0xdb;
/// Turns a register's octets to those of a network, or back.
pub const TO_BIG_ENDIAN: u8 = 0xdc;
/// Over so many instructions.
pub const JUMP: u8 = 0x05;
/// If one register is greater than the other, unsigned.
pub const JUMP_IF_GREATER: u8 = 0x2d;
/// If a register is the value.
pub const JUMP_IF_EQUAL: u8 = 0x15;
/// If its lower half is.
pub const JUMP_IF_EQUAL_32: u8 = 0x16;
/// If its lower half is less, signed.
pub const JUMP_IF_LESS_SIGNED_32: u8 = 0xc6;
/// If a register is greater than the value, signed.
pub const JUMP_IF_GREATER_SIGNED: u8 = 0x65;
/// Unless a register is the value.
pub const JUMP_UNLESS_EQUAL: u8 = 0x55;
/// Unless its lower half is.
pub const JUMP_UNLESS_EQUAL_32: u8 = 0x56;
/// A function by its number; its arguments are in registers 1 to 5, and its result in 0.
pub const CALL: u8 = 0x85;
/// The end; the result is in register 0.
pub const EXIT: u8 = 0x95;

/// As value of an [`ATOMIC_64`]: the memory becomes the sum with the register.
pub const ATOMIC_ADD: i32 = 0;
/// The same, and the register becomes what the memory was.
pub const ATOMIC_FETCH_ADD: i32 = 1;
/// The register and the memory change places. What was written before is seen before.
pub const ATOMIC_EXCHANGE: i32 = 0xe1;

/// As source of a [`LOAD_IMMEDIATE_64`]: the value is a map's descriptor.
pub const MAP: u8 = 1;
/// As source of a [`LOAD_IMMEDIATE_64`]: the value is a map's descriptor, and what the map has first is meant.
pub const MAP_VALUE: u8 = 2;
/// As source of a [`CALL`]: the value is the number of a function of the running kernel.
pub const FUNCTION: u8 = 2;
/// The register that points behind the stack.
pub const STACK: u8 = 10;
