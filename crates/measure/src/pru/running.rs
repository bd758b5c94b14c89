//! A PRU that runs one of our programs, from when it is taken to when it is given back.

use std::time::{Duration, Instant};

use super::block::{Block, PruCounts};
use super::firmware::Firmware;
use super::guard::{Guard, RestorePaths, Step};
use super::host::Host;
use super::layout::{IS_READY, Kind, at, state};
use super::remote::Remote;
use crate::Error;

/// A firmware is ready within microseconds of its start.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// It goes back to what it was when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    pru: u32,
    block: Block,
    remote: Remote,
    guard: Option<Guard>,
    patience_ms: u64,
}

impl Running {
    /// Takes the PRU, and has it do this. `longest_ns` is how long the work may take to end once it is asked to.
    pub(super) fn start(
        host: &Host,
        pru: u32,
        kind: Kind,
        words: &[(usize, u32)],
        longest_ns: u64,
    ) -> Result<Self, Error> {
        let mut running = Self::take(host, pru, kind, longest_ns)?;
        for (offset, value) in words {
            running.block.write(*offset, *value);
        }
        running.block.write(at::COMMAND, 1);
        running.wait(|word| word != state::IDLE, at::STATE, "did not begin")?;
        match running.state() {
            state::REFUSING => {
                let offset = running.block.read(at::REFUSED);
                Err(Error::Impossible(format!(
                    "PRU {pru}: its firmware refuses the word at {offset:#x} (pru/shared.inc)"
                )))
            }
            _ => Ok(running),
        }
    }

    fn take(host: &Host, pru: u32, kind: Kind, longest_ns: u64) -> Result<Self, Error> {
        let remote = Remote::find(host, pru)?;
        let firmware = Firmware::find(host, kind, pru)?;
        let mut block = Block::open(host, pru)?;
        let (former, runs) = (remote.firmware()?, remote.state()? == "running");
        if runs && former.starts_with("ontick-") {
            return Err(Error::Impossible(format!(
                "PRU {pru} runs ontick's own {former}: another ontick uses it (if none does: echo stop | sudo tee {})",
                remote.state_file().display()
            )));
        }
        let patience_ms = longest_ns.div_ceil(1_000_000) + 100;
        let guarded = |error| Error::System { what: "guarding the PRU", error };
        let way =
            RestorePaths::back(&remote.state_file(), &remote.firmware_file(), &former, &firmware.place, patience_ms)
                .map_err(guarded)?;
        // From here on whatever is changed goes back.
        let guard = Guard::start(&way, &mut block).map_err(guarded)?;
        let send = |step| guard.send(step).map_err(guarded);
        if runs {
            send(Step::StopFormer)?;
            remote.stop()?;
        }
        if firmware.is_to_be_placed() {
            send(Step::Place)?;
            firmware.place()?;
        }
        send(Step::Name)?;
        remote.set_firmware(&firmware.name)?;
        // What another firmware left there must not be taken for an answer.
        block.write(at::MAGIC, 0);
        block.write(at::COMMAND, 0);
        send(Step::Start)?;
        remote.start()?;

        let mut running = Self { pru, block, remote, guard: Some(guard), patience_ms };
        running.wait(|word| word == IS_READY, at::MAGIC, "did not answer through the shared RAM")?;
        match running.block.read(at::KIND) {
            word if word == kind.word() => Ok(running),
            word => Err(Error::Impossible(format!(
                "PRU {pru}: {} is of another version ({word:#x} and not {:#x}): build it anew (make -C pru)",
                firmware.name,
                kind.word()
            ))),
        }
    }

    fn wait(&mut self, is_it: impl Fn(u32) -> bool, offset: usize, what: &str) -> Result<(), Error> {
        let began = Instant::now();
        while !is_it(self.block.read(offset)) {
            if began.elapsed() > READY_WITHIN {
                return Err(Error::Impossible(format!("PRU {}: its firmware {what}", self.pru)));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// See [`state`].
    pub(super) fn state(&mut self) -> u32 {
        self.block.read(at::STATE)
    }

    /// What the kernel calls the PRU's state once it does not run any more, whatever its firmware left in the shared RAM;
    /// where that cannot be read, it runs.
    pub(super) fn halted(&self) -> Option<String> {
        self.remote.state().ok().filter(|state| !matches!(state.as_str(), "" | "running"))
    }

    /// What it has found so far.
    pub(super) fn found(&mut self) -> PruCounts {
        self.block.found()
    }

    /// Ends the work; what it found then is final.
    pub(super) fn stop(&mut self) -> Result<PruCounts, Error> {
        match self.block.end(self.patience_ms) {
            true => Ok(self.block.found()),
            false => Err(Error::Impossible(format!("PRU {}: its firmware does not end when it is asked to", self.pru))),
        }
    }

    /// Gives the PRU back; sentences of what could not be put back.
    pub(super) fn give_back(mut self) -> Vec<&'static str> {
        self.guard.take().map(Guard::put_back).unwrap_or_default()
    }
}
