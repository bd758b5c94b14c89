//! One boot is measured.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ontick_machine::Root;
use ontick_measure::search::model::Boots;
use ontick_measure::search::{Block, Session, block_of};
use ontick_measure::{Length, Limits, Live, Observer, timer};
use ontick_rt::clock::ClockId;
use ontick_rt::phase::{self, Phase};

use crate::commands::tune::search::asked::Asked;
use crate::commands::tune::search::asked_boots::AskedBoots;
use crate::commands::tune::search::candidates::Candidate;
use crate::failure::Failure;

/// A boot takes so much longer than it ran, at most; a clock that was set says more.
const LONGEST_RESTART_NS: u64 = 3_600_000_000_000;
/// The search is asked so often whether it shall end.
const TURN: Duration = Duration::from_millis(100);

/// Measures this boot, which has this number and these candidates on; none if it is stopped before.
pub fn measure(
    root: &Root,
    asked: &Asked,
    boots: &AskedBoots,
    (number, arm): (u64, &[usize]),
    asked_at_s: u64,
    stop: &AtomicBool,
) -> Result<Option<Session>, Failure> {
    if !root.is_live() {
        let mut machine = Boots::new(effects(asked)?, asked.seed ^ number);
        return Ok(Some(machine.boot(arm, boots.blocks)));
    }
    while ClockId::Monotonic.now_ns() < boots.settle_ns {
        if stop.load(Relaxed) {
            return Ok(None);
        }
        std::thread::sleep(TURN);
    }
    let (mut job, placement) = asked.job()?;
    placement.check()?;
    if job.interval_ns <= phase::LONGEST_SCANNED_NS {
        job.phase = Phase::Fixed(timer::find_phase(job.interval_ns, placement)?);
    }
    let _beside = asked.load()?.start()?;
    let mut blocks = Vec::new();
    for _ in 0..boots.blocks {
        let limits = Limits::new(Length::Duration(asked.block_ns));
        let mut look = |_: &Live| {};
        let mut observer = Observer::new(stop, &mut look);
        let series = timer::measure("block", job, placement, limits, &mut observer)?;
        if observer.stopped() {
            return Ok(None);
        }
        let block = block_of(&series, asked.limit_ns, asked.block_ns, Asked::cpus_online());
        blocks.push(Block { took_ns: asked.block_ns, ..block });
    }
    Ok(Some(Session { arm: arm.to_vec(), blocks, took_ns: took_ns(asked_at_s) }))
}

/// What each candidate of a modelled machine gains.
pub fn effects(asked: &Asked) -> Result<Vec<f64>, Failure> {
    let effect = |of: &Candidate| if let Candidate::Simulated(_, points) = of { *points } else { 0.0 };
    Ok(asked.candidates()?.iter().map(effect).collect())
}

/// Since the restart was asked for, as far as the machine's clock can be believed; else since the kernel started.
fn took_ns(asked_at_s: u64) -> u64 {
    let up_ns = ClockId::Monotonic.now_ns();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = now.saturating_sub(Duration::from_secs(asked_at_s)).as_nanos().try_into().unwrap_or(u64::MAX);
    let believed = (up_ns..up_ns.saturating_add(LONGEST_RESTART_NS)).contains(&since);
    if believed { since } else { up_ns }
}
