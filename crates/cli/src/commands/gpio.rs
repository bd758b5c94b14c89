//! `ontick gpio …`

mod get;
mod list;
mod pace;
mod play;
mod pwm;
mod remove;
mod render;
mod set;
pub use render::{document, note};
mod watch;
mod wire;

use clap::{Args, Subcommand};
use ontick_gpio::{Bias, Debounce, Request};

use crate::failure::{Failure, Outcome};
use crate::flags;
use crate::lazily::Lazily;

/// List, read, drive, modulate, play and watch GPIO lines, and join simulated ones.
///
/// Lines are named gpiochip0:17, or as the board calls them (GPIO17), or sim:bench/17 for line 17 of a simulated
/// chip, which works on every machine and is made when it is first used.
#[derive(Subcommand)]
pub enum Gpio {
    List(Lazily<list::List>),
    Get(Lazily<get::Get>),
    Set(Lazily<set::Set>),
    Pwm(Lazily<pwm::Pwm>),
    Play(Lazily<Box<play::Play>>),
    Watch(Lazily<watch::Watch>),
    Wire(Lazily<wire::WireCommand>),
    Unwire(Lazily<wire::Unwire>),
    Remove(Lazily<remove::Remove>),
}

impl Gpio {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Gpio::List(Lazily(list)) => list.run(),
            Gpio::Get(Lazily(get)) => get.run(),
            Gpio::Set(Lazily(set)) => set.run(),
            Gpio::Pwm(Lazily(pwm)) => pwm.run(),
            Gpio::Play(Lazily(play)) => play.run(),
            Gpio::Watch(Lazily(watch)) => watch.run(),
            Gpio::Wire(Lazily(wire)) => wire.run(),
            Gpio::Unwire(Lazily(unwire)) => unwire.run(),
            Gpio::Remove(Lazily(remove)) => remove.run(),
        }
    }
}

/// How a line is set up.
#[derive(Args, Debug, Clone)]
struct SetUp {
    /// 1 is low on the wire and 0 is high
    #[arg(long)]
    active_low: bool,
    /// Bias of a line that nothing drives: as-is, disabled, pull-up or pull-down
    #[arg(long, default_value = "as-is")]
    bias: Bias,
}

/// What is left out of what a line shows.
#[derive(Args, Debug, Clone, Copy)]
struct Filter {
    /// A level counts once it has lasted so long, 1us to 16s: a switch that bounces is seen once. By the chip or the kernel;
    /// registers cannot
    #[arg(long, value_name = "TIME", value_parser = debounce)]
    debounce: Option<Debounce>,
}

fn debounce(text: &str) -> Result<Debounce, String> {
    Debounce::from_ns(flags::time(text)?)
        .map_err(|_| format!("\"{text}\" is not from 1us to 16s in whole microseconds"))
}

impl SetUp {
    fn of(&self, request: Request) -> Request {
        request.active_low(self.active_low).bias(self.bias)
    }
}
