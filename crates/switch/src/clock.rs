//! The machine's clock that a switch's gates follow.

use ontick_rt::clock::ClockId;
use ontick_tsn::model::Clock;

/// The clock of this machine.
pub fn id(clock: Clock) -> ClockId {
    match clock {
        Clock::Monotonic => ClockId::Monotonic,
        Clock::Realtime => ClockId::Realtime,
        Clock::Tai => ClockId::Tai,
    }
}

/// The time on it, in ns.
pub fn now_ns(clock: Clock) -> u64 {
    id(clock).now_ns()
}
