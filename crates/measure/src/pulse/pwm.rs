//! Pulses by a PWM channel, which times itself (`/sys/class/pwm`; Linux: Documentation/driver-api/pwm.rst).

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;
use ontick_undo::guardian::Writes;
use ontick_units::exact;

use super::setpoint::{Modulation, Setpoint};
use crate::Error;

/// After a channel was exported, udev may take so long to give its files to the user's group.
const APPEARS_WITHIN: Duration = Duration::from_secs(1);

/// A channel that goes on is looked after this often, in ns.
const LOOK_NS: u64 = 20_000_000;

/// A channel of a PWM chip: `pwmchip0:1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    chip: String,
    number: u32,
    /// Where the system's files are: another folder than `/` in tests.
    root: PathBuf,
}

/// A text that names none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" names no PWM channel (write pwmchip0:0; ls /sys/class/pwm shows the chips)")]
pub struct ChannelError(pub String);

impl FromStr for Channel {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, ChannelError> {
        let wrong = || ChannelError(text.into());
        let (chip, number) = text.split_once(':').ok_or_else(wrong)?;
        let digits = chip.strip_prefix("pwmchip").ok_or_else(wrong)?;
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !plain(digits) || !plain(number) {
            return Err(wrong());
        }
        let number = number.parse().map_err(|_| wrong())?;
        Ok(Self { chip: chip.into(), number, root: "/".into() })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.chip, self.number)
    }
}

impl Channel {
    /// The same channel of the system whose files are below `root`.
    pub fn at(self, root: &Path) -> Self {
        Self { root: root.into(), ..self }
    }

    fn chip_folder(&self) -> PathBuf {
        self.root.join("sys/class/pwm").join(&self.chip)
    }

    fn folder(&self) -> PathBuf {
        self.chip_folder().join(format!("pwm{}", self.number))
    }

    fn fails(&self, why: impl fmt::Display) -> Error {
        Error::Impossible(format!("PWM channel {self}: {why}"))
    }

    /// Takes the channel and lets it make pulses.
    pub(super) fn start(&self, width_ns: u64, period_ns: u64) -> Result<Running, Error> {
        if !self.chip_folder().is_dir() {
            return Err(self.fails("there is no such chip (ls /sys/class/pwm shows those that there are; a Raspberry Pi needs dtoverlay=pwm)"));
        }
        let exported = self.export()?;
        let unexport = || drop(fs::write(self.chip_folder().join("unexport"), self.number.to_string()));
        let before = self.read_state().inspect_err(|_| {
            if exported {
                unexport();
            }
        })?;
        // From here on whatever is changed goes back, also when this process is killed: the pulses would go on.
        let back = Writes::start(self.way_back(before, exported)).map_err(|error| self.fails(error))?;
        let running = Running { channel: self.clone(), _back: back };
        if before.enabled {
            running.set("enable", 0)?;
        }
        // The width may never be more than the period, not in between either.
        if before.width_ns > period_ns {
            running.set("duty_cycle", 0)?;
        }
        running.set_time("period", period_ns)?;
        running.set_time("duty_cycle", width_ns)?;
        running.set("enable", 1)?;
        Ok(running)
    }

    fn read_state(&self) -> Result<State, Error> {
        let read = |file: &str| {
            let text = fs::read_to_string(self.folder().join(file));
            let value = text.map(|text| text.trim().parse::<u64>().unwrap_or(0));
            value.map_err(|error| self.fails(format_args!("{file} cannot be read: {error}")))
        };
        Ok(State { period_ns: read("period")?, width_ns: read("duty_cycle")?, enabled: read("enable")? != 0 })
    }

    /// What is written where, so that the channel does what it did before. Each as far as it goes: a channel that never
    /// ran has a period of 0, which cannot be set.
    fn way_back(&self, before: State, exported: bool) -> Vec<(PathBuf, String)> {
        let own = |file: &str, value: u64| (self.folder().join(file), value.to_string());
        let mut back = vec![
            own("enable", 0),
            own("duty_cycle", 0),
            own("period", before.period_ns),
            own("duty_cycle", before.width_ns),
        ];
        if before.enabled {
            back.push(own("enable", 1));
        }
        if exported {
            back.push((self.chip_folder().join("unexport"), self.number.to_string()));
        }
        back
    }

    /// Whether the channel had to be exported.
    fn export(&self) -> Result<bool, Error> {
        if self.folder().is_dir() {
            return Ok(false);
        }
        let written = fs::write(self.chip_folder().join("export"), self.number.to_string());
        written.map_err(|error| match error.raw_os_error() {
            Some(libc::ENODEV) => self.fails(format_args!("the chip has {} channels", self.channels())),
            Some(libc::EBUSY) => self.fails("the kernel or another program uses it"),
            _ if error.kind() == io::ErrorKind::PermissionDenied => {
                self.fails("no permission to use it (sudo, or the group of /sys/class/pwm's files, often gpio)")
            }
            _ => self.fails(format_args!("cannot be exported: {error}")),
        })?;
        let began = Instant::now();
        while fs::OpenOptions::new().write(true).open(self.folder().join("period")).is_err() {
            if began.elapsed() > APPEARS_WITHIN {
                let _ = fs::write(self.chip_folder().join("unexport"), self.number.to_string());
                return Err(self.fails("was exported, but its files cannot be written (sudo, or the group gpio)"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(true)
    }

    fn refusal(&self, file: &str, ns: u64, error: &io::Error) -> Error {
        let what = if file == "period" { "period" } else { "width" };
        match error.raw_os_error() {
            Some(libc::EINVAL | libc::ERANGE) => {
                self.fails(format_args!("its driver refuses a {what} of {}", exact(ns)))
            }
            _ => self.fails(format_args!("{file} cannot be set: {error}")),
        }
    }

    fn channels(&self) -> String {
        fs::read_to_string(self.chip_folder().join("npwm")).map_or("fewer".into(), |text| text.trim().into())
    }
}

/// What a channel did before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    period_ns: u64,
    width_ns: u64,
    enabled: bool,
}

/// A channel that makes pulses. It goes back to what it did before when this is dropped, or this process ends.
#[derive(Debug)]
pub(super) struct Running {
    channel: Channel,
    _back: Writes,
}

impl Running {
    /// Goes on with other times. In which period they begin is up to the driver.
    fn change(&self, from: Modulation, to: Modulation) -> Result<(), Error> {
        let (period, width) = (("period", to.period_ns()), ("duty_cycle", to.width_ns()));
        // The width may never be more than the period, not in between either.
        let order = if to.period_ns() < from.period_ns() { [width, period] } else { [period, width] };
        order.into_iter().try_for_each(|(file, ns)| self.set_time(file, ns))
    }

    fn write(&self, file: &str, value: u64) -> io::Result<()> {
        fs::write(self.channel.folder().join(file), value.to_string())
    }

    fn set(&self, file: &str, value: u64) -> Result<(), Error> {
        self.write(file, value).map_err(|error| self.channel.fails(format_args!("{file} cannot be set: {error}")))
    }

    fn set_time(&self, file: &str, ns: u64) -> Result<(), Error> {
        self.write(file, ns).map_err(|error| self.channel.refusal(file, ns, &error))
    }
}

/// Has the channel make the pulses that are wanted, until `limit_ns` has passed or `stop` is set; then it does what it did
/// before. Where its driver refuses a change, that is told, and it goes on as before the change. Returns what it made at last.
pub fn modulate_by(
    channel: &Channel,
    setpoint: &Setpoint,
    limit_ns: Option<u64>,
    stop: &AtomicBool,
    refused: &dyn Fn(&Error),
) -> Result<Modulation, Error> {
    let mut asked = setpoint.get();
    let mut made = asked;
    let running = channel.start(made.width_ns(), made.period_ns())?;
    let end_ns = limit_ns.map_or(u64::MAX, |ns| ClockId::Monotonic.now_ns().saturating_add(ns));
    while !stop.load(Relaxed) {
        let now_ns = ClockId::Monotonic.now_ns();
        if now_ns >= end_ns {
            break;
        }
        let wanted = setpoint.get();
        if wanted != asked {
            asked = wanted;
            match running.change(made, wanted) {
                Ok(()) => made = wanted,
                Err(error) => {
                    let _ = running.change(wanted, made);
                    refused(&error);
                }
            }
        }
        ClockId::Monotonic.sleep_until(end_ns.min(now_ns + LOOK_NS));
    }
    Ok(made)
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A chip as its files show it; files keep what was written last.
    fn chip(state: Option<State>) -> (tempfile::TempDir, Channel) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/class/pwm/pwmchip0");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("npwm"), "2\n").unwrap();
        fs::write(folder.join("export"), "").unwrap();
        if let Some(state) = state {
            let channel = folder.join("pwm1");
            fs::create_dir(&channel).unwrap();
            for (file, value) in
                [("period", state.period_ns), ("duty_cycle", state.width_ns), ("enable", state.enabled.into())]
            {
                fs::write(channel.join(file), format!("{value}\n")).unwrap();
            }
        }
        let channel = "pwmchip0:1".parse::<Channel>().unwrap().at(root.path());
        (root, channel)
    }

    /// A channel that nobody uses.
    pub fn idle_channel() -> (tempfile::TempDir, Channel) {
        chip(Some(State { period_ns: 0, width_ns: 0, enabled: false }))
    }

    pub fn files(channel: &Channel) -> [String; 3] {
        ["period", "duty_cycle", "enable"]
            .map(|file| fs::read_to_string(channel.folder().join(file)).unwrap().trim().to_string())
    }

    #[test]
    fn it_runs_and_goes_back_to_what_it_did() {
        for before in [
            State { period_ns: 20_000_000, width_ns: 1_500_000, enabled: true },
            State { period_ns: 0, width_ns: 0, enabled: false },
        ] {
            let (_root, channel) = chip(Some(before));
            let running = channel.start(100_000, 1_100_000).unwrap();
            assert_eq!(files(&channel), ["1100000", "100000", "1"]);
            drop(running);
            let was = [before.period_ns, before.width_ns, before.enabled.into()].map(|n| n.to_string());
            assert_eq!(files(&channel), was);
        }
    }

    #[test]
    fn a_channel_that_goes_on_takes_changes_and_goes_back_at_the_end() {
        let before = State { period_ns: 20_000_000, width_ns: 1_500_000, enabled: false };
        let (_root, channel) = chip(Some(before));
        let wanted = |period_us: u64, width_us: u64| Modulation::new(period_us * 1_000, width_us * 1_000).unwrap();
        let (setpoint, stop) = (Setpoint::new(wanted(4_000, 1_000)), AtomicBool::new(false));
        let refused = std::sync::Mutex::new(Vec::new());
        let shows = |times: [&str; 3]| {
            let began = Instant::now();
            while files(&channel) != times {
                assert!(began.elapsed() < Duration::from_secs(20), "{:?} instead of {times:?}", files(&channel));
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        std::thread::scope(|scope| {
            let tell = |error: &Error| refused.lock().unwrap().push(error.to_string());
            let (channel, setpoint, stop) = (&channel, &setpoint, &stop);
            let made = scope.spawn(move || modulate_by(channel, setpoint, None, stop, &tell));
            shows(["4000000", "1000000", "1"]);
            setpoint.set(wanted(10_000, 9_000));
            shows(["10000000", "9000000", "1"]);
            setpoint.set(wanted(2_000, 500));
            shows(["2000000", "500000", "1"]);
            stop.store(true, Relaxed);
            assert_eq!(made.join().unwrap().unwrap(), setpoint.get());
        });
        assert_eq!(files(&channel), ["20000000", "1500000", "0"]);
        assert!(refused.into_inner().unwrap().is_empty());
        let began = Instant::now();
        modulate_by(&channel, &setpoint, Some(30_000_000), &AtomicBool::new(false), &|_| {}).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(30));
        assert_eq!(files(&channel), ["20000000", "1500000", "0"]);
    }

    #[test]
    fn what_the_driver_refuses_is_one_sentence_and_nothing_stays() {
        let before = State { period_ns: 5_000_000, width_ns: 7, enabled: false };
        let (_root, channel) = chip(Some(before));
        // A file that cannot be opened for writing stands in for a driver that refuses.
        let width = channel.folder().join("duty_cycle");
        fs::remove_file(&width).unwrap();
        fs::create_dir(&width).unwrap();
        let error = channel.start(100_000, 1_100_000).unwrap_err().to_string();
        assert!(error.contains("pwmchip0:1") && error.contains("duty_cycle"), "{error}");
        assert_eq!(fs::read_to_string(channel.folder().join("period")).unwrap().trim(), "5000000");
    }

    #[test]
    fn refusals_name_what_was_wanted() {
        let (_root, channel) = chip(None);
        let said = |errno| channel.refusal("period", 1_100_000, &io::Error::from_raw_os_error(errno)).to_string();
        assert_eq!(said(libc::EINVAL), "PWM channel pwmchip0:1: its driver refuses a period of 1.1ms");
        assert!(said(libc::EIO).contains("period cannot be set"));
    }

    #[test]
    fn a_chip_that_is_not_there_and_names_that_are_none() {
        let (_root, channel) = chip(None);
        let gone = Channel { chip: "pwmchip7".into(), ..channel };
        assert!(gone.start(1, 2).unwrap_err().to_string().contains("no such chip"));
        for text in ["", "pwmchip0", "pwmchip:0", "pwm0:1", "pwmchip0:x", "pwmchip0:+1", "../pwmchip0:1"] {
            assert!(text.parse::<Channel>().unwrap_err().0 == text, "{text}");
        }
        assert_eq!("pwmchip2:3".parse::<Channel>().unwrap().to_string(), "pwmchip2:3");
    }

    #[test]
    fn a_channel_whose_files_do_not_appear_is_given_back() {
        let (root, channel) = chip(None);
        let unexport = root.path().join("sys/class/pwm/pwmchip0/unexport");
        fs::write(&unexport, "").unwrap();
        fs::set_permissions(&unexport, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(channel.start(1, 2).unwrap_err().to_string().contains("cannot be written"));
        assert_eq!(fs::read_to_string(unexport).unwrap(), "1");
    }
}
