//! `ontick gpio get`

use clap::Args;
use ontick_gpio::{Line, Name, Request};

use super::{SetUp, shown};
use crate::failure::{Failure, Outcome};

/// Read lines. They become inputs, unless another program drives them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio get GPIO17\n  ontick gpio get sim:bench/17\n  ontick gpio get gpiochip0:17 --bias pull-up --active-low    a button to ground: 1 is pressed"
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
        let read = |name: &Name| {
            let mut line = Line::open(name, &self.set_up.of(Request::input()))?;
            let value = line.read().map_err(|gone| Failure::new(format!("line {name}: {gone}")))?;
            Ok(shown::Value::of(&line, value))
        };
        let values: Result<Vec<_>, Failure> = self.lines.iter().map(read).collect();
        shown::values(&values?, self.json)?;
        Ok(Outcome::Met)
    }
}
