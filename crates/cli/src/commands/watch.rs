//! `ontick watch`

mod round_trips;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ontick_rt::cpus;
use ontick_rt::thread::Policy;
use ontick_undo::system_calls::Needed;
use ontick_undo::trust;
use ontick_units::{CpuList, exact};
use ontick_watch::block::Job;
use ontick_watch::hours::Hours;
use ontick_watch::otlp::{Endpoint, Exporter};
use ontick_watch::pace::Pace;
use ontick_watch::serve::{Admission, Beside, Listen, Server, Socket};
use ontick_watch::service::{Listener, Options, Service};
use ontick_watch::signals::{Address, Signals};
use ontick_watch::switches::SwitchWatch;

use self::round_trips::RoundTripFlags;
use super::switch::watched;
use crate::failure::{Failure, Outcome};
use crate::launch::sudo_user;
use crate::{flags, privileges, stop, terminal};

/// Watch the machine's timing all the time, at a small cost, and show it on a page.
///
/// Measures short blocks of wake-ups on each CPU in turn, keeps every 5 minutes' figures for more than a year, and notes
/// what changed on the machine beside it. Goes on until Ctrl-C, with all that it had measured before. CPUs in
/// use by other real-time programs are left alone meanwhile.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick watch --listen 127.0.0.1:9119    then open http://127.0.0.1:9119\n  ontick watch --cpu 1-3 --hours 22:00-06:00\n  sudo ontick watch --explain --listen 127.0.0.1:9119\n  ontick sample --rate 1kHz --source wave:sine --to unix:/tmp/s,format=binary &\n  ontick watch --sample unix:/tmp/s --listen 127.0.0.1:9119\n  ontick watch --roundtrip 192.0.2.7:5000 --listen 127.0.0.1:9119\n  sudo ontick watch --listen 0.0.0.0:9119 --host box.lan --token token\n  ontick watch --otlp http://127.0.0.1:4318"
)]
pub struct Watch {
    /// The CPUs that are watched [default: all but isolated ones, which belong to somebody]
    #[arg(long, value_name = "LIST", value_parser = list)]
    cpu: Option<CpuList>,
    /// Period of the wake-ups, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// Wake-ups, and requests of --roundtrip, in a block
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    cycles: u32,
    /// Time between two rounds over the CPUs, at least
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = flags::time)]
    every: u64,
    /// Largest share of one CPU that all of this may cost: rounds come less often where they cost more
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = flags::share)]
    duty: f64,
    /// Measure round trips over the network, too: who answers, as HOST:PORT or as MAC with interface=IF behind it, then
    /// other options of `ontick latency roundtrip`, without their dashes (02:00:00:00:00:01,interface=eth1,period=2ms); may
    /// be given several times
    #[arg(long, value_name = "TO[,OPTION=VALUE...]", value_parser = round_trips::parse)]
    roundtrip: Vec<RoundTripFlags>,
    /// Measure only in this part of the day
    #[arg(long, value_name = "HH:MM-HH:MM")]
    hours: Option<Hours>,
    /// Policy of the measuring threads, as far as the system allows it
    #[arg(long, value_name = "POLICY", default_value = "fifo:80")]
    policy: Policy,
    /// Note each block's largest latency from here on
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = flags::time)]
    outlier: u64,
    /// Trace the kernel while a CPU is measured, and name what made each outlier late (needs root)
    #[arg(long)]
    explain: bool,
    /// Show the signals of the `ontick sample` that offers them here, unix:/path or tcp:127.0.0.1:5000, as long as
    /// somebody looks at the page; may be given several times
    #[arg(long, value_name = "SOCKET", requires = "listen")]
    sample: Vec<Address>,
    /// Keep everything in this folder [default: /var/lib/ontick-watch for root, ~/.local/state/ontick/watch for others]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Offer the page and metrics here: 127.0.0.1:9119, [::1]:9119 or unix:/path
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Listen>,
    /// A further name under which browsers may ask for the page; may be given several times
    #[arg(long, value_name = "NAME", requires = "listen")]
    host: Vec<String>,
    /// Ask for the token in this file; other machines are never answered without one
    #[arg(long, value_name = "FILE", requires = "listen")]
    token: Option<PathBuf>,
    #[arg(long, value_name = "FOLDER", hide = true)]
    switch_state: Option<PathBuf>,
    /// Send the figures of the metrics to a receiver of OpenTelemetry: OTLP over http, with exponential histograms
    #[arg(long, value_name = "URL")]
    otlp: Option<Endpoint>,
    /// How often they are sent
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = flags::time, requires = "otlp")]
    otlp_every: u64,
    /// End after this time
    #[arg(long, value_name = "TIME", value_parser = flags::duration)]
    duration: Option<u64>,
    /// Print nothing unless something is wrong
    #[arg(long, short)]
    quiet: bool,
}

fn list(text: &str) -> Result<CpuList, String> {
    text.parse::<CpuList>().map_err(|e| format!("{e} (write a list of CPUs such as 3 or 2-3)"))
}

impl Watch {
    pub fn run(self) -> Result<Outcome, Failure> {
        let options = self.options()?;
        let socket = self.listen.as_ref().map(|listen| self.bind(listen)).transpose()?;
        if !self.explain {
            privileges::WATCH.settle()?;
            // A Raspberry Pi's firmware is asked by a program whether the board is throttled.
            privileges::refuse_calls(Needed { programs: true, bpf: false });
        }
        let stop = stop::on_signal()?;
        if let Some(ns) = self.duration {
            let stop = stop.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_nanos(ns));
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
        }
        let cpus: CpuList = options.cpus.iter().copied().collect();
        let folder = options.folder.clone();
        let round_trips = self.roundtrip.iter().map(|flags| flags.round_trip(self.cycles)).collect();
        let mut service = Service::open(options, round_trips).map_err(Failure::new)?;
        let switches = self.switches();
        let (server, address) = match socket {
            None => (None, None),
            Some((socket, admission)) => {
                let address = socket.address()?;
                (Some(Server::start(socket, admission, service.state(), self.beside(&switches)?)?), Some(address))
            }
        };
        if !self.quiet {
            self.announce(&cpus, &folder, address.as_ref())?;
        }
        if let Some(why) = service.unexplained() {
            terminal::say(&format!("warning: {why}"));
        }
        let every = Duration::from_nanos(self.otlp_every);
        let send = |endpoint| Exporter::start(endpoint, every, service.state(), Some(switches.clone()));
        let exporter = self.otlp.clone().map(send).transpose()?;
        let news: Listener = Box::new(move || server.iter().for_each(Server::tell));
        service.run(&stop, &news);
        drop(exporter);
        if !self.quiet {
            service.refused().iter().for_each(|refused| terminal::say(&format!("warning: {refused}")));
        }
        Ok(Outcome::Met)
    }

    /// What is shown beside the measurements.
    fn beside(&self, switches: &Arc<SwitchWatch>) -> Result<Beside, Failure> {
        Ok(Beside { switches: Some(switches.clone()), signals: Signals::start(self.sample.clone())? })
    }

    /// Who knows the switches of this machine.
    fn switches(&self) -> Arc<SwitchWatch> {
        let home = self.switch_state.clone();
        Arc::new(SwitchWatch::new(Box::new(move || watched(home.as_deref()))))
    }

    fn options(&self) -> Result<Options, Failure> {
        let online = cpus::allowed();
        let cpus: Vec<u32> = match &self.cpu {
            Some(named) => named.iter().collect(),
            None => {
                let isolated = cpus::isolated();
                let free: Vec<u32> = online.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect();
                if free.is_empty() { online.clone() } else { free }
            }
        };
        if let Some(missing) = cpus.iter().find(|cpu| !online.contains(cpu)) {
            let online: CpuList = online.iter().copied().collect();
            return Err(Failure::new(format!(
                "CPU {missing} is not one that this program may use (it may use {online})"
            )));
        }
        // As in every measurement of a timer.
        if self.interval < 1_000 {
            return Err(Failure::new("the interval must be at least 1us: a clock read alone takes 0.02us"));
        }
        let wake_ups_ns = self.interval.saturating_mul(self.cycles.into());
        let round_trips = self.roundtrip.iter().map(|flags| flags.block_ns(self.cycles));
        let block_ns = round_trips.fold(wake_ups_ns, u64::max);
        if block_ns > Duration::from_secs(60).as_nanos() as u64 {
            return Err(Failure::new(format!(
                "a block of {} cycles of {} takes {}: ask for a minute or less",
                self.cycles,
                exact(block_ns / u64::from(self.cycles)),
                exact(block_ns)
            )));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) =
            self.roundtrip.iter().map(|flags| flags.way().name()).find(|name| !names.insert(name.clone()))
        {
            return Err(Failure::new(format!("--roundtrip: {twice} is named twice")));
        }
        if !self.policy.is_real_time() && self.policy != Policy::Other || matches!(self.policy, Policy::Deadline { .. })
        {
            return Err(Failure::new("--policy takes other, fifo:N or rr:N here"));
        }
        if self.otlp_every < Duration::from_secs(1).as_nanos() as u64 {
            return Err(Failure::new(format!(
                "--otlp-every {}: figures are sent once a second at most",
                exact(self.otlp_every)
            )));
        }
        Ok(Options {
            cpus,
            job: Job { interval_ns: self.interval, cycles: self.cycles, policy: self.policy, outlier_ns: self.outlier },
            pace: Pace { every: Duration::from_nanos(self.every), duty: self.duty },
            hours: self.hours,
            explain: self.explain,
            look_every: Duration::from_secs(60),
            folder: self.state.clone().map_or_else(default_folder, Ok)?,
        })
    }

    fn bind(&self, listen: &Listen) -> Result<(Socket, Admission), Failure> {
        let token = self.token.as_deref().map(token).transpose()?;
        if !listen.is_local() && token.is_none() {
            return Err(Failure::new(format!(
                "{listen} can be reached from other machines: name a file with a token (--token FILE), or listen on 127.0.0.1"
            )));
        }
        let socket = Socket::bind(listen).map_err(|error| Failure::new(format!("listening on {listen}: {error}")))?;
        Ok((socket, Admission::new(listen, &self.host, token)))
    }

    fn announce(&self, cpus: &CpuList, folder: &Path, address: Option<&Listen>) -> Result<(), Failure> {
        let hours = self.hours.map(|hours| format!(", from {hours}")).unwrap_or_default();
        let mut text = format!(
            "watching CPU {cpus}: {} wake-ups {} apart every {}{hours}, at most {} % of a CPU\nkept in  {}\n",
            self.cycles,
            exact(self.interval),
            exact(self.every),
            self.duty * 100.0,
            terminal::harmless(&folder.display().to_string())
        );
        for flags in &self.roundtrip {
            text += &format!("asking   {}\n", terminal::harmless(&flags.describe(self.cycles)));
        }
        if let Some(address) = address {
            text += &format!("page at  {address}\n");
        }
        if let Some(endpoint) = &self.otlp {
            text += &format!("sent to  {endpoint} every {}\n", exact(self.otlp_every));
        }
        terminal::print(&text)
    }
}

/// systemd's folder for the service's state, root's, or the user's.
fn default_folder() -> Result<PathBuf, Failure> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = named("STATE_DIRECTORY") {
        return Ok(folder);
    }
    if rustix::process::geteuid().is_root() {
        return Ok("/var/lib/ontick-watch".into());
    }
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
    let state =
        state.ok_or_else(|| Failure::new("there is no HOME to keep the state in: name a folder (--state DIR)"))?;
    Ok(state.join("ontick/watch"))
}

/// The token in a file that nobody else can read or could have written: not its owner either, who would know it.
fn token(path: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if found.mode() & 0o044 != 0 {
        return Err(Failure::new(format!("{}: others can read the token (chmod 600 it)", path.display())));
    }
    trust::check_metadata_of(path, &found, sudo_user())
        .map_err(|untrusted| Failure::new(format!("{untrusted}, so that others may know the token")))?;
    let mut text = String::new();
    file.by_ref().take(4096).read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    let fits =
        (16..=256).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b));
    if !fits {
        return Err(Failure::new(format!(
            "{}: no token: write 16 to 256 letters and digits (such as those of `openssl rand -hex 16`)",
            path.display()
        )));
    }
    Ok(token.into())
}
