//! `ontick network time run`

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use ontick_network::ptp::{
    ClientError, Linuxptp, Node, Observation, SocketDir, Stamping, Standing, Watch, clock_programs,
};
use ontick_rt::clock::ClockId;

use super::condition::lack;
use super::node_flag::NodeFlag;
use super::on_loss::OnLoss;
use super::report::{Reporter, RunReport};
use super::shown::{Form, Shown};
use crate::commands::switch::target_flags::StateFlag;
use crate::failure::{Failure, Outcome};
use crate::{flags, privileges, stop, terminal};

/// Between two lines.
const LINE: Duration = Duration::from_secs(1);
/// ptp4l answers in microseconds; on a machine with other work it may take longer.
const ANSWER: Duration = Duration::from_millis(500);
/// For so long it may not answer before that is reported.
const SILENCE: Duration = Duration::from_secs(5);
/// Why the time is not good although nothing bad was measured.
const NO_SYNC: &str = "no Sync message has come for some time";
const NO_FIRST_ANSWER: &str = "ptp4l has not answered yet";
const NO_ANSWER: &str = "ptp4l does not answer";
/// How long it sleeps before it looks around.
const WAIT: Duration = Duration::from_millis(50);
/// Programs that follow other networks' time: beside the first grandmaster, they are where its time is from.
pub(super) const OF_OTHERS: [&str; 4] = ["chronyd", "ntpd", "openntpd", "systemd-timesyn"];

/// Keep a node in time, and watch how well.
///
/// Runs ptp4l, phc2sys where network cards have clocks, and ts2phc where one has a pulse each second; they end with
/// this command. Prints the node's role, its offset from the grandmaster and the delay of the way each second, and what
/// happens: a grandmaster that is lost, comes back, is another one or one too many. What becomes of the gates of this
/// machine's switches when the time is lost is said by `on-time-loss` in the network's file.
///
/// Exit status: 0 it had the network's time throughout, and all offsets were within `offset-bound`; 1 not, or never; 2 it
/// could not run.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network time run network.toml --node s1\n  sudo ontick network time run network.toml --node camera --free-running"
)]
pub struct Run {
    #[command(flatten)]
    node: NodeFlag,
    /// Measure only: no clock of this machine is set or slewed
    #[arg(long)]
    free_running: bool,
    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = flags::duration)]
    duration: Option<u64>,
    /// Print JSON: a document on each line
    #[arg(long)]
    json: bool,
    /// The folder for ptp4l's sockets
    #[arg(long, value_name = "DIR", hide = true)]
    sockets: Option<PathBuf>,
    #[command(flatten)]
    state: StateFlag,
}

/// What is made of ptp4l's answers.
struct Observer {
    watch: Watch,
    standing: Standing,
    reporter: Reporter,
    on_loss: Option<OnLoss>,
    shown: Shown,
    began: Instant,
}

impl Run {
    pub fn run(self) -> Result<Outcome, Failure> {
        let privileges = if self.free_running { privileges::NETWORK_TIME_FREE } else { privileges::NETWORK_TIME };
        privileges.require("network time run")?;
        let node = self.node.find()?;
        let stamping = self.node.stamping_here(&node)?;
        if !self.free_running {
            node.check_pulse(&stamping)?;
            refuse_other_programs(&node)?;
        }
        let socket = SocketDir::new(self.sockets.as_deref()).socket(&node.name)?;
        let on_loss = OnLoss::new(&node, self.state.state.as_deref())?;
        let stop = stop::on_signal()?;
        let mut linuxptp = Linuxptp::start(&node, &stamping, self.free_running, &socket)?;
        privileges.settle()?;
        terminal::say(&self.head(&node, &stamping));
        let began = Instant::now();
        let watch = Watch::new(&node, self.free_running, 0);
        let shown = Shown::new(&node, if self.json { Form::Json } else { Form::Text });
        let (standing, reporter) = (Standing::new(&node, 0), Reporter::new(&socket));
        let mut observer = Observer { watch, standing, reporter, on_loss, shown, began };
        let ended = self.watch(&node, &mut linuxptp, &mut observer, &stop);
        let took = began.elapsed();
        let (summary, standing) = (observer.watch.finish(ns(took)), &observer.standing);
        let not_good = (standing.losses(), standing.lost_ns(ns(took)));
        observer.shown.summary(summary, not_good, took, self.free_running)?;
        ended?;
        // Whoever does not answer says nothing of what was lost meanwhile.
        let heard = summary.first_time_ns.is_some() && standing.losses() == 0;
        let kept = heard && summary.without_master_ns == 0 && summary.losses == 0;
        Ok(if kept && summary.beyond_bound == 0 { Outcome::Met } else { Outcome::NotMet })
    }

    fn head(&self, node: &Node, stamping: &Stamping) -> String {
        let by = match stamping {
            Stamping::Hardware(_) => "frames are stamped by hardware",
            Stamping::Software(_) => "frames are stamped by software",
        };
        let set = match &node.pulse {
            _ if self.free_running => "; no clock is set (--free-running)".into(),
            Some((interface, _)) => format!("; its own time is by the pulse at {interface}"),
            None => String::new(),
        };
        let (name, interfaces) = (&node.name, node.interfaces.join(", "));
        format!("ontick: node {name} takes part in PTP at {interfaces}; {by}{set} (Ctrl-C ends it)")
    }

    fn watch(
        &self,
        node: &Node,
        linuxptp: &mut Linuxptp,
        observer: &mut Observer,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let Observer { watch, standing, reporter, on_loss, shown, began } = observer;
        let began = *began;
        let began_ns = ClockId::Monotonic.now_ns().saturating_sub(ns(began.elapsed()));
        let until = self.duration.map(|ns| began + Duration::from_nanos(ns));
        let interval = sync_interval(node);
        let (mut next, mut next_line) = (began, began + LINE);
        let (mut last, mut answered, mut silent): (Option<Observation>, _, _) = (None, began, false);
        while !stop.load(Relaxed) && until.is_none_or(|until| Instant::now() < until) {
            linuxptp.check()?;
            let mut reading = None;
            let mut answers = false;
            match linuxptp.client().observe(ANSWER) {
                Ok(seen) => {
                    if std::mem::take(&mut silent) {
                        shown.answers(began.elapsed(), answered.elapsed())?;
                    }
                    (answered, answers) = (Instant::now(), true);
                    let at = began.elapsed();
                    let events = watch.update(ns(at), &seen);
                    reading = watch.reading();
                    events.iter().try_for_each(|event| shown.event(at, event))?;
                    last = Some(seen);
                }
                Err(ClientError::Silent) if answered.elapsed() > SILENCE && !silent => {
                    silent = true;
                    shown.silent(began.elapsed())?;
                }
                Err(ClientError::Silent) => {}
                Err(other) => {
                    // Its end is the better reason for a socket that fails.
                    linuxptp.check()?;
                    return Err(other.into());
                }
            }
            if let Some(on_loss) = on_loss {
                on_loss.update(began.elapsed(), reading, shown)?;
            }
            let at_ns = ns(began.elapsed());
            standing.update(at_ns, reading);
            let reason = || match &last {
                Some(_) if !answers => NO_ANSWER.into(),
                Some(seen) => lack(node, watch, seen, watch.offset_ns()).unwrap_or(NO_SYNC.into()),
                None => NO_FIRST_ANSWER.into(),
            };
            reporter.report(RunReport {
                at_ns: began_ns + at_ns,
                began_ns,
                free_running: self.free_running,
                good: standing.is_good(),
                since_ns: began_ns + standing.since_ns(),
                reason: (!standing.is_good()).then(reason),
                forced: on_loss.as_ref().and_then(OnLoss::forced),
                losses: watch.summary().losses,
                beyond_bound: watch.summary().beyond_bound,
            });
            if Instant::now() >= next_line {
                next_line += LINE;
                // What it said before the last line is not how it is now.
                if let Some(seen) = last.as_ref().filter(|_| answered.elapsed() <= LINE) {
                    shown.line(began.elapsed(), watch, seen)?;
                }
            }
            next = (next + interval).max(Instant::now());
            while Instant::now() < next.min(until.unwrap_or(next)) && !stop.load(Relaxed) {
                std::thread::sleep(next.saturating_duration_since(Instant::now()).min(WAIT));
            }
        }
        Ok(())
    }
}

/// As often as there is something new, within reason.
fn sync_interval(node: &Node) -> Duration {
    let seconds = 2f64.powi(node.time.log_sync_interval.into());
    Duration::from_secs_f64(seconds.clamp(1.0 / 32.0, 1.0))
}

/// Two programs that set one clock each undo what the other one does. With a pulse phc2sys sets the system's.
fn refuse_other_programs(node: &Node) -> Result<(), Failure> {
    let by_others = node.is_first_grandmaster() && node.pulse.is_none();
    let may_run = |name: &String| by_others && OF_OTHERS.contains(&name.as_str());
    let running = clock_programs();
    match running.iter().find(|name| !may_run(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::new(format!(
            "{name} runs on this machine and sets its clock, too: stop it first, or only measure (--free-running)"
        ))),
    }
}

fn ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}
