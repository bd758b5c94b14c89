//! `ontick gpio get`

use clap::Args;
use ontick_gpio::{Bias, Line, Name, Request};
use ontick_rt::clock::sleep_for;

use super::{Filter, SetUp, render};
use crate::failure::{Failure, Outcome};

/// What a line shows when it is opened counts at once. Where that was a glitch, its end counts a period later, and it began a
/// period before at most; the kernel counts periods in ticks, which are 10 ms at most, and may be two late.
const LATE_NS: u64 = 20_000_000;

/// Read lines as they are configured; with --bias or --debounce they become inputs.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio get GPIO17\n  ontick gpio get sim:bench/17\n  ontick gpio get gpiochip0:17 --bias pull-up --active-low   a button\n  ontick gpio get GPIO17 --debounce 5ms   its level, not a glitch on it"
)]
pub struct Get {
    /// Lines to read
    #[arg(required = true, value_name = "LINE")]
    lines: Vec<Name>,
    #[command(flatten)]
    set_up: SetUp,
    #[command(flatten)]
    filter: Filter,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Get {
    pub fn run(self) -> Result<Outcome, Failure> {
        // An output that a program left driven is not to be switched off by a look at it.
        let debounce = self.filter.debounce;
        let is_looked_at = self.set_up.bias == Bias::AsIs && debounce.is_none();
        let as_wanted = if is_looked_at { Request::as_is() } else { Request::input() };
        let request = self.set_up.of(as_wanted).debounce(debounce);
        let values = match debounce {
            None => self.lines.iter().map(|name| read(Line::open(name, &request)?)).collect(),
            Some(debounce) => {
                let lines: Result<Vec<_>, _> = self.lines.iter().map(|name| Line::open(name, &request)).collect();
                let lines = lines?;
                sleep_for(2 * debounce.ns() + LATE_NS);
                lines.into_iter().map(read).collect::<Result<Vec<_>, Failure>>()
            }
        };
        render::values(&values?, self.json)?;
        Ok(Outcome::Met)
    }
}

fn read(mut line: Line) -> Result<render::Value, Failure> {
    let value = line.read().map_err(|gone| Failure::new(format!("line {}: {gone}", line.name())))?;
    Ok(render::Value::of(&line, value))
}
