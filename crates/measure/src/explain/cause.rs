//! What made a sample late, by name.

use super::events::{Task, Vector, softirq};

/// One named cause.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// The handler of a device's interrupt.
    DeviceInterrupt(String),
    /// A software interrupt.
    Softirq(String),
    /// The kernel's periodic tick.
    TimerTick,
    /// A high-resolution timer of somebody else, by its function.
    OtherTimer(String),
    /// Another CPU had something done here.
    InterProcessorCall(&'static str),
    /// Another task had the CPU: name and policy.
    AnotherTask(String),
    /// Normal tasks got their guaranteed share, although a real-time thread wanted to run.
    FairServer(&'static str),
    /// Real-time threads had used up their share.
    Throttling,
    /// The thread touched memory that was not there.
    PageFault,
    /// The thread was moved to another CPU.
    Migration,
    /// The CPU came out of idle late.
    IdleExit,
    /// The CPU's frequency was changed.
    Frequency,
    /// The process was stopped by a signal or a debugger.
    Stopped,
    /// The hypervisor took the CPU and says so.
    Steal,
    /// Nothing happened in the kernel: firmware or hypervisor.
    OutsideTheKernel,
    /// The same, while the processor counted a system management interrupt.
    FirmwareInterrupt,
    /// The kernel was allowed to fire the timer later.
    TimerSlack,
    /// The kernel's own way from the timer's interrupt to the thread.
    WakeUpPath,
    /// It cannot be known, for this reason.
    Unknown(&'static str),
}

impl Cause {
    /// Whether the kernel went on meanwhile: what it did then tells more of it.
    pub fn is_seen_by_the_kernel(&self) -> bool {
        !matches!(self, Cause::Steal | Cause::OutsideTheKernel | Cause::FirmwareInterrupt)
    }

    /// The cause's name.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::DeviceInterrupt(_) => "device interrupt",
            Cause::Softirq(_) => "softirq",
            Cause::TimerTick => "timer tick",
            Cause::OtherTimer(_) => "other timer",
            Cause::InterProcessorCall(_) => "inter-processor call",
            Cause::AnotherTask(_) => "another task",
            Cause::FairServer(_) => "fair server",
            Cause::Throttling => "RT throttling",
            Cause::PageFault => "page fault",
            Cause::Migration => "migration",
            Cause::IdleExit => "idle exit",
            Cause::Frequency => "frequency change",
            Cause::Stopped => "stopped",
            Cause::Steal => "steal",
            Cause::OutsideTheKernel => "outside the kernel",
            Cause::FirmwareInterrupt => "firmware interrupt",
            Cause::TimerSlack => "timer slack",
            Cause::WakeUpPath => "wake-up path",
            Cause::Unknown(_) => "unknown",
        }
    }

    /// Which one, where there are several; else empty.
    pub fn detail(&self) -> &str {
        match self {
            Cause::DeviceInterrupt(which)
            | Cause::Softirq(which)
            | Cause::OtherTimer(which)
            | Cause::AnotherTask(which) => which,
            Cause::InterProcessorCall(which) | Cause::FairServer(which) | Cause::Unknown(which) => which,
            _ => "",
        }
    }

    /// A task that had the CPU.
    pub fn task(task: &Task) -> Self {
        Cause::AnotherTask(task.to_string())
    }

    /// A software interrupt by its number.
    pub fn softirq(number: u32) -> Self {
        Cause::Softirq(softirq(number))
    }

    /// An interrupt of the CPU's own, other than its timer's.
    pub fn vector(vector: Vector) -> Self {
        Cause::InterProcessorCall(match vector {
            Vector::Call => "function call",
            Vector::Reschedule => "reschedule",
            Vector::Work => "deferred work",
            Vector::Timer | Vector::Other => "other",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_a_detail_where_there_are_several() {
        let details = [Vector::Call, Vector::Reschedule, Vector::Work, Vector::Timer].map(Cause::vector);
        let details = details.each_ref().map(Cause::detail);
        assert_eq!(details, ["function call", "reschedule", "deferred work", "other"]);
        assert_eq!(Cause::FairServer("or RT throttling").detail(), "or RT throttling");
        assert_eq!(Cause::Unknown("not traced").detail(), "not traced");
        assert_eq!([Cause::softirq(3).detail(), Cause::Steal.detail()], ["NET_RX", ""]);
    }
}
