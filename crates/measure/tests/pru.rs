//! The PRU's firmware in gdb's simulator of that processor (docs/pru.md): every count of cycles that is promised.
//!
//! It needs what `packaging/pru-tools` and `make -C pru` build; without that these tests say so and end.
//! `packaging/test-pru` builds both and lets them be missing no more (ONTICK_PRU=required).

#[path = "pru/pulse.rs"]
mod pulse;
#[path = "pru/response.rs"]
mod response;
#[path = "pru/simulator.rs"]
mod simulator;
