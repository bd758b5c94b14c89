//! `ontick network time status --watch`

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::asker::Asker;
use super::changes::Changes;
use super::look::{Look, unanswered};
use super::status_view::View;
use crate::failure::{Failure, Outcome};
use crate::stop;

/// Between two looks whether it is to end.
const WAIT: Duration = Duration::from_millis(50);

/// Shows a node's time until a signal. Somebody must answer at the beginning; later it is waited for.
pub fn watch(mut asker: Asker, home: Option<&Path>, interval: Duration, json: bool) -> Result<Outcome, Failure> {
    let node = asker.node;
    let mut answer = Ok(asker.ask()?);
    let stop = stop::on_signal()?;
    let (began, mut next) = (Instant::now(), Instant::now());
    let (mut changes, mut view) = (Changes::new(node), View::new(json));
    let mut last = None;
    loop {
        let at = began.elapsed();
        let events = changes.update(at, &answer);
        let status = match (answer, last) {
            (Err(silence), Some(last)) => unanswered(last, silence.report, events),
            (Err(silence), None) => return Err(silence.failure),
            (Ok(answer), _) => Look::new(node, answer, home).status(events),
        };
        view.show(at, &status)?;
        let outcome = if status.good { Outcome::Met } else { Outcome::NotMet };
        last = Some(status);
        next = (next + interval).max(Instant::now());
        if ends_before(next, &stop) {
            return Ok(outcome);
        }
        answer = asker.ask();
    }
}

fn ends_before(time: Instant, stop: &AtomicBool) -> bool {
    while !stop.load(Relaxed) && Instant::now() < time {
        std::thread::sleep(time.saturating_duration_since(Instant::now()).min(WAIT));
    }
    stop.load(Relaxed)
}
