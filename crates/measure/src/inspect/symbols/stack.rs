//! What the kernel copied of a thread's user stack, and which of its words are return addresses.
//!
//! Libraries keep no frame pointers, so that a chain of frames breaks in the first of them. A word of the stack that
//! points behind a call instruction was left there by that call: such words are the callers, with few exceptions (a call
//! that has returned, in a part of a frame that was not written since).

/// Bytes before a return address that can hold the call.
pub const CALL: usize = 7;

/// Where a thread was in its program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserStack {
    /// The instruction.
    pub instruction: u64,
    /// The return address that is in a register, on processors that have one.
    pub link: Option<u64>,
    /// The words above the stack pointer.
    pub words: Vec<u64>,
}

impl UserStack {
    /// What may be return addresses, the innermost first.
    pub fn candidates(&self) -> impl Iterator<Item = u64> + '_ {
        self.link.into_iter().chain(self.words.iter().copied())
    }
}

/// Whether the instruction that these bytes end with is a call.
pub fn ends_in_a_call(bytes: &[u8]) -> bool {
    let Some(bytes) = bytes.get(bytes.len().wrapping_sub(CALL)..) else { return false };
    if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
        x86(bytes)
    } else if cfg!(target_arch = "aarch64") {
        let word = u32::from_le_bytes([bytes[3], bytes[4], bytes[5], bytes[6]]);
        // bl, blr
        word & 0xfc00_0000 == 0x9400_0000 || word & 0xffff_fc1f == 0xd63f_0000
    } else {
        true
    }
}

fn x86(bytes: &[u8]) -> bool {
    let relative = bytes[CALL - 5] == 0xe8;
    // call through a register or memory: ff /2, with 1 to 6 bytes for the operand.
    let indirect = |length: usize| bytes[CALL - length] == 0xff && bytes[CALL - length + 1] >> 3 & 7 == 2;
    relative || [2, 3, 4, 6, 7].into_iter().any(indirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_x86_are_recognised() {
        // call rel32; call *%rax; call *0x8(%rax); call *0x1234(%rip); call *0x10(%rsp)
        assert!(x86(&[0x90, 0x90, 0xe8, 1, 2, 3, 4]));
        assert!(x86(&[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0]));
        assert!(x86(&[0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x08]));
        assert!(x86(&[0x90, 0xff, 0x15, 0x34, 0x12, 0, 0]));
        assert!(x86(&[0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x10]));
        // mov; jmp *%rax (ff /4); push (ff /6)
        assert!(!x86(&[0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90]));
        assert!(!x86(&[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0]));
        assert!(!ends_in_a_call(&[0xff, 0xd0]));
    }

    #[test]
    fn the_register_comes_before_the_stack() {
        let stack = UserStack { instruction: 1, link: Some(2), words: vec![3, 4] };
        assert_eq!(stack.candidates().collect::<Vec<_>>(), [2, 3, 4]);
    }
}
