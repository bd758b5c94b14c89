//! Programs of the PIO. An instruction takes one tick.

use pio_core::{
    Assembler, InSource, JmpCondition, MovDestination, MovOperation, MovSource, Program, SetDestination, SideSet,
    WaitSource,
};

/// Samples four lines each tick; eight samples are a word.
pub fn sampler() -> Program<32> {
    let mut a = Assembler::new();
    a.r#in(InSource::PINS, 4);
    a.assemble_program()
}

/// Hands on a word only where it differs from the one before (in Y), and before it how many were equal (in ISR, counted
/// downwards). Either way takes 7 ticks, and a word comes every 8.
pub fn compressor() -> Program<32> {
    let mut a = Assembler::new();
    let (mut top, mut differs, mut counted) = (a.label(), a.label(), a.label());
    let mut end = a.label();
    a.bind(&mut top);
    a.pull(false, true);
    a.mov(MovDestination::X, MovOperation::None, MovSource::OSR);
    a.jmp(JmpCondition::XNotEqualY, &mut differs);
    a.mov(MovDestination::X, MovOperation::None, MovSource::ISR);
    a.jmp(JmpCondition::XDecNonZero, &mut counted);
    a.bind(&mut counted);
    a.mov(MovDestination::ISR, MovOperation::None, MovSource::X);
    a.jmp(JmpCondition::Always, &mut top);
    a.bind(&mut differs);
    a.push(false, true);
    a.mov(MovDestination::ISR, MovOperation::None, MovSource::OSR);
    a.push(false, true);
    a.mov(MovDestination::Y, MovOperation::None, MovSource::OSR);
    a.bind(&mut end);
    a.assemble_with_wrap(end, top)
}

/// Takes how long pulses are low (less 3), how many there are (less 1), and how long they are high (less 2), and makes them.
pub fn pulses() -> Program<32> {
    const LOW: u8 = 0;
    const HIGH: u8 = 1;
    let mut a = Assembler::new_with_side_set(SideSet::new(false, 1, false));
    let (mut top, mut again, mut high, mut low) = (a.label(), a.label(), a.label(), a.label());
    let mut end = a.label();
    a.bind(&mut top);
    a.pull_with_side_set(false, true, LOW);
    a.mov_with_side_set(MovDestination::ISR, MovOperation::None, MovSource::OSR, LOW);
    a.pull_with_side_set(false, true, LOW);
    a.mov_with_side_set(MovDestination::Y, MovOperation::None, MovSource::OSR, LOW);
    a.pull_with_side_set(false, true, LOW);
    a.bind(&mut again);
    a.mov_with_side_set(MovDestination::X, MovOperation::None, MovSource::OSR, HIGH);
    a.bind(&mut high);
    a.jmp_with_side_set(JmpCondition::XDecNonZero, &mut high, HIGH);
    a.mov_with_side_set(MovDestination::X, MovOperation::None, MovSource::ISR, LOW);
    a.bind(&mut low);
    a.jmp_with_side_set(JmpCondition::XDecNonZero, &mut low, LOW);
    a.jmp_with_side_set(JmpCondition::YDecNonZero, &mut again, LOW);
    a.bind(&mut end);
    a.assemble_with_wrap(end, top)
}

/// Follows a line: OSR has how much later (less 3).
pub fn answers() -> Program<32> {
    let mut a = Assembler::new();
    let (mut top, mut end) = (a.label(), a.label());
    a.bind(&mut top);
    for level in [1, 0] {
        let mut later = a.label();
        a.wait(level, WaitSource::Pin(0));
        a.mov(MovDestination::X, MovOperation::None, MovSource::OSR);
        a.bind(&mut later);
        a.jmp(JmpCondition::XDecNonZero, &mut later);
        a.set(SetDestination::PINS, level);
    }
    a.bind(&mut end);
    a.assemble_with_wrap(end, top)
}

/// An instruction that a state machine is made to execute.
pub fn instruction(write: impl FnOnce(&mut Assembler<32>)) -> u32 {
    let mut a = Assembler::new();
    write(&mut a);
    a.assemble().first().copied().map_or(0, u32::from)
}
