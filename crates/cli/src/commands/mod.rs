//! One file for each command.

mod advise;
mod baseline;
mod check;
mod compare;
mod gpio;
mod import;
mod inspect;
mod kernel;
mod latency;
mod link;
mod measuring;
mod network;
mod ownership;
mod prove;
mod pulse;
mod report;
mod run;
mod sample;
mod schema;
mod simulated;
mod switch;
mod tune;
mod tuned;
mod watch;

use clap::Subcommand;
use ontick_measure::explain;

use crate::failure::{Failure, Outcome};

/// The command tree.
#[derive(Subcommand)]
pub enum Command {
    Check(check::Check),
    #[command(subcommand)]
    Tune(tune::Tune),
    Run(run::Run),
    Inspect(inspect::Inspect),
    Prove(prove::Prove),
    #[command(subcommand)]
    Latency(latency::Latency),
    Pulse(pulse::Pulse),
    #[command(subcommand)]
    Gpio(gpio::Gpio),
    Sample(sample::Sample),
    #[command(subcommand)]
    Link(link::Link),
    #[command(subcommand)]
    Switch(switch::Switch),
    #[command(subcommand)]
    Network(network::Network),
    #[command(subcommand)]
    Kernel(kernel::Kernel),
    Watch(watch::Watch),
    Report(report::Report),
    Compare(compare::Compare),
    #[command(subcommand)]
    Baseline(baseline::Baseline),
    Advise(advise::Advise),
    Import(import::Import),
    Schema(schema::Schema),
}

impl Command {
    /// Whether it has to do with the running machine, which tracing that a killed run left behind would slow down.
    fn meets_the_machine(&self) -> bool {
        match self {
            Command::Check(_)
            | Command::Tune(_)
            | Command::Run(_)
            | Command::Inspect(_)
            | Command::Prove(_)
            | Command::Latency(_)
            | Command::Pulse(_)
            | Command::Sample(_)
            | Command::Watch(_)
            | Command::Link(_) => true,
            Command::Switch(switch) => switch.meets_the_machine(),
            Command::Kernel(kernel) => kernel.meets_the_machine(),
            Command::Gpio(_)
            | Command::Network(_)
            | Command::Report(_)
            | Command::Compare(_)
            | Command::Baseline(_)
            | Command::Advise(_)
            | Command::Import(_)
            | Command::Schema(_) => false,
        }
    }

    pub fn run(self) -> Result<Outcome, Failure> {
        if self.meets_the_machine() {
            explain::clean();
        }
        match self {
            Command::Check(check) => check.run(),
            Command::Tune(tune) => tune.run(),
            Command::Run(run) => run.run(),
            Command::Inspect(inspect) => inspect.run(),
            Command::Prove(prove) => prove.run(),
            Command::Latency(latency) => latency.run(),
            Command::Pulse(pulse) => pulse.run(),
            Command::Gpio(gpio) => gpio.run(),
            Command::Sample(sample) => sample.run(),
            Command::Link(link) => link.run(),
            Command::Switch(switch) => switch.run(),
            Command::Network(network) => network.run(),
            Command::Kernel(kernel) => kernel.run(),
            Command::Watch(watch) => watch.run(),
            Command::Report(report) => report.run(),
            Command::Compare(compare) => compare.run(),
            Command::Baseline(baseline) => baseline.run(),
            Command::Advise(advise) => advise.run(),
            Command::Import(import) => import.run(),
            Command::Schema(schema) => schema.run(),
        }
    }
}
