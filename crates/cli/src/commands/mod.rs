//! One file for each command.

mod advise;
mod baseline;
mod beside;
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
use crate::lazily::Lazily;

/// The command tree.
#[derive(Subcommand)]
pub enum Command {
    Check(Lazily<check::Check>),
    #[command(subcommand)]
    Tune(Lazily<tune::Tune>),
    Run(Lazily<run::Run>),
    Inspect(Lazily<inspect::Inspect>),
    Prove(Lazily<prove::Prove>),
    #[command(subcommand)]
    Latency(Lazily<latency::Latency>),
    Pulse(Lazily<pulse::Pulse>),
    #[command(subcommand)]
    Gpio(Lazily<gpio::Gpio>),
    Sample(Lazily<sample::Sample>),
    #[command(subcommand)]
    Link(Lazily<link::Link>),
    #[command(subcommand)]
    Switch(Lazily<switch::Switch>),
    #[command(subcommand)]
    Network(Lazily<network::Network>),
    #[command(subcommand)]
    Kernel(Lazily<kernel::Kernel>),
    Watch(Lazily<watch::Watch>),
    Report(Lazily<report::Report>),
    Compare(Lazily<compare::Compare>),
    #[command(subcommand)]
    Baseline(Lazily<baseline::Baseline>),
    Advise(Lazily<advise::Advise>),
    Import(Lazily<import::Import>),
    Schema(Lazily<schema::Schema>),
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
            Command::Switch(Lazily(switch)) => switch.meets_the_machine(),
            Command::Kernel(Lazily(kernel)) => kernel.meets_the_machine(),
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
            Command::Check(Lazily(check)) => check.run(),
            Command::Tune(Lazily(tune)) => tune.run(),
            Command::Run(Lazily(run)) => run.run(),
            Command::Inspect(Lazily(inspect)) => inspect.run(),
            Command::Prove(Lazily(prove)) => prove.run(),
            Command::Latency(Lazily(latency)) => latency.run(),
            Command::Pulse(Lazily(pulse)) => pulse.run(),
            Command::Gpio(Lazily(gpio)) => gpio.run(),
            Command::Sample(Lazily(sample)) => sample.run(),
            Command::Link(Lazily(link)) => link.run(),
            Command::Switch(Lazily(switch)) => switch.run(),
            Command::Network(Lazily(network)) => network.run(),
            Command::Kernel(Lazily(kernel)) => kernel.run(),
            Command::Watch(Lazily(watch)) => watch.run(),
            Command::Report(Lazily(report)) => report.run(),
            Command::Compare(Lazily(compare)) => compare.run(),
            Command::Baseline(Lazily(baseline)) => baseline.run(),
            Command::Advise(Lazily(advise)) => advise.run(),
            Command::Import(Lazily(import)) => import.run(),
            Command::Schema(Lazily(schema)) => schema.run(),
        }
    }
}
