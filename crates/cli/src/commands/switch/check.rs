//! `ontick switch check`

use std::path::PathBuf;

use clap::Args;
use ontick_machine::{Facts, Root};
use ontick_record::findings::any_bad;
use ontick_report::{Style, text};
use ontick_switch::check::{Check as Checked, Port, check, route_id};
use ontick_switch::link;
use ontick_switch::ports::{self, Machine};
use ontick_units::show_bit_rate;

use super::file;
use super::measured::CalibrationFlag;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Check what this machine's ports can do, which data plane fits and why, and what is in the way, worst first; changes
/// nothing.
///
/// Exit status 1 if this machine cannot do something that the file requires.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick switch check                  every port of this machine\n  ontick switch check cell4.toml       the ports that this switch needs\n  ontick switch check --all --json"
)]
pub struct Check {
    /// The file that describes the switch
    file: Option<PathBuf>,
    #[command(flatten)]
    calibration: CalibrationFlag,
    /// Show also what is well, and every reason with its source
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> Result<Outcome, Failure> {
        let switch = self.file.as_deref().map(file::read).transpose()?;
        let listed = |error| Failure::new(format!("interfaces cannot be listed: {error}"));
        let (interfaces, links) = (ports::all().map_err(listed)?, link::list().map_err(listed)?);
        let measured = self.calibration.read()?.map(|measured| measured.calibration);
        let mut checked = check(machine(), &interfaces, &links, switch.as_ref(), measured.as_ref());
        name_commands(&mut checked);
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&checked)? + "\n"))?,
            false => terminal::print(&self.render(&checked))?,
        }
        Ok(if any_bad(&checked.findings) { Outcome::NotMet } else { Outcome::Met })
    }

    fn render(&self, checked: &Checked) -> String {
        let style = terminal::style();
        let mut shown: String = checked.ports.iter().map(|one| port(one, &style)).collect();
        if let Some(plane) = &checked.plane {
            let name = plane.plane.unwrap_or("none");
            shown += &text::labelled("data plane       ", &format!("{name}: {}", plane.why), &style);
        }
        if !shown.is_empty() {
            shown += "\n";
        }
        shown + &text::findings(&checked.findings, self.all, &style)
    }
}

/// The library says what mends a finding, and not by which command.
fn name_commands(checked: &mut Checked) {
    for port in &checked.ports {
        let id = route_id(&port.interface.name);
        for now in checked.findings.iter_mut().filter(|finding| finding.id == id).filter_map(|f| f.now.as_mut()) {
            *now += " (sudo ontick switch apply --confirm 60s)";
        }
    }
}

fn machine() -> Machine {
    let config = Facts::gather(&Root::live()).config;
    let option = |name: &str| config.get(name).map(str::to_owned);
    Machine::probe(if config.known() { Some(&option) } else { None })
}

/// What a port is and can do, in a few lines.
fn port(port: &Port, style: &Style) -> String {
    let facts = &port.interface;
    let driver = facts.driver.as_ref().map(|driver| {
        let bus = if driver.bus.is_empty() { String::new() } else { format!(" at {}", driver.bus) };
        format!("{}{bus}", driver.name)
    });
    let link = match (facts.carrier, facts.rate) {
        (false, _) => "no link".into(),
        (true, Some(rate)) => show_bit_rate(rate),
        (true, None) => "a link".into(),
    };
    let queues = match facts.transmit_queues {
        1 => "1 transmit queue".into(),
        queues => format!("{queues} transmit queues"),
    };
    let stamps = match facts.stamps.clock {
        Some(clock) => format!("PTP clock /dev/ptp{clock}"),
        None => "no PTP clock".into(),
    };
    let words: Vec<String> = driver.into_iter().chain([link, format!("MTU {}", facts.mtu), queues, stamps]).collect();
    // The longest name of an interface has 15 characters.
    let label = |label: &str| format!("{label:17}");
    let mut text = text::labelled(&label(&facts.name), &words.join(", "), style);
    for (name, fits) in [("kernel", &port.planes.kernel), ("user", &port.planes.user)] {
        let fit = if fits.fits { "fits" } else { "does not fit" };
        text += &text::labelled(&label(""), &format!("{name} data plane {fit}: {}", fits.words()), style);
    }
    let planes = &port.planes;
    let all = [
        (planes.full.fits, "open gates"),
        (planes.txtime.fits, "send at given times"),
        (planes.preemption.fits, "preempt frames"),
    ];
    let can: Vec<&str> = all.into_iter().filter_map(|(fits, words)| fits.then_some(words)).collect();
    let list = match can.as_slice() {
        [] => return text,
        [one, another, last] => format!("{one}, {another} and {last}"),
        two => two.join(" and "),
    };
    text + &text::labelled(&label(""), &format!("the port itself can {list}"), style)
}
