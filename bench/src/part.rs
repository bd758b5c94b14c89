//! The parts of the bench. Each has its own page and its own goals.

/// One of them, in the order in which they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// The timed loop beside its peers, pulses, edges and links
    Timing,
    /// The program's size, its start, and how long a check and a report take
    Program,
    /// Samples for four clients at once, beside a loop that only spins
    Samples,
    /// The planning of schedules beside tsnkit
    Planning,
    /// Plans, and proofs that there is none, beside an exact solver (OR-tools); measured only where it is named
    Judge,
    /// A loop in C beside the same in Rust
    C,
    /// A loop in Python beside the same in Rust
    Python,
    /// The timed loop on every CPU at once beside each CPU alone
    Cpus,
    /// What the service that watches costs
    Watch,
    /// Round trips over virtual Ethernet by the hybrid wait beside a blocking receive
    RoundTrips,
    /// cyclictest on a CPU that is kept from idling beside one that may idle
    Idle,
    /// What it costs a sleeping loop to be inspected
    Inspect,
    /// The end points of a planned network, and that network with real frames
    Network,
    /// A switch managed by NETCONF
    Netconf,
    /// Captures of a logic analyser's beside sigrok-cli
    Captures,
    /// What it costs the switch's core that its system calls are filtered
    Hardening,
    /// The cost of a frame in the switch's core as ports and stations become more
    Growth,
    /// The switch
    Switch,
}
