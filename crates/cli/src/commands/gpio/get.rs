//! `ontick gpio get`

use clap::Args;
use ontick_gpio::{Bias, Line, Name, Request};

use super::{SetUp, render};
use crate::failure::{Failure, Outcome};

/// Read lines as they are configured; with --bias they become inputs.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio get GPIO17\n  ontick gpio get sim:bench/17\n  ontick gpio get gpiochip0:17 --bias pull-up --active-low   a button"
)]
pub struct Get {
    /// Lines to read
    #[arg(required = true, value_name = "LINE")]
    lines: Vec<Name>,
    #[command(flatten)]
    set_up: SetUp,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Get {
    pub fn run(self) -> Result<Outcome, Failure> {
        // An output that a program left driven is not to be switched off by a look at it.
        let as_wanted = if self.set_up.bias == Bias::AsIs { Request::as_is() } else { Request::input() };
        let read = |name: &Name| {
            let mut line = Line::open(name, &self.set_up.of(as_wanted))?;
            let value = line.read().map_err(|gone| Failure::new(format!("line {name}: {gone}")))?;
            Ok(render::Value::of(&line, value))
        };
        let values: Result<Vec<_>, Failure> = self.lines.iter().map(read).collect();
        render::values(&values?, self.json)?;
        Ok(Outcome::Met)
    }
}
