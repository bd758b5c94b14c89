//! The host's side of the PRUs, on a modelled machine: what it writes where, what it reads, and how it puts everything
//! back. With the simulator there (packaging/pru-tools) the real firmware runs behind the same shared RAM.

#[path = "pru_host/given_back.rs"]
mod given_back;
#[path = "pru_host/machine.rs"]
mod machine;
#[path = "pru_host/player.rs"]
mod player;
#[path = "pru_host/refused.rs"]
mod refused;
#[path = "pru_host/results.rs"]
mod results;
#[path = "pru_host/simulated.rs"]
mod simulated;
