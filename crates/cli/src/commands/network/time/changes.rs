//! From one answer of ptp4l to the next: what happened.

use std::time::Duration;

use ontick_network::ptp::{Node, Watch};
use ontick_record::time_status::TimeEvent;
use ontick_units::show;

use super::asker::{Answer, Unanswered};
use super::sentences::Sentences;

/// Holds each answer against those before.
pub struct Changes<'a> {
    node: &'a Node,
    sentences: Sentences,
    /// With whether the clock is only measured.
    watch: Option<(Watch, bool)>,
    silent_since: Option<Duration>,
}

impl<'a> Changes<'a> {
    pub fn new(node: &'a Node) -> Self {
        Self { node, sentences: Sentences::of(node), watch: None, silent_since: None }
    }

    /// ptp4l was asked at this time, and answered or not.
    pub fn update(&mut self, at: Duration, answer: &Result<Answer, Unanswered>) -> Vec<TimeEvent> {
        match answer {
            Ok(answer) => {
                let mut events: Vec<TimeEvent> = self.answers(at).into_iter().collect();
                events.extend(self.time(at.as_nanos() as u64, answer));
                events
            }
            Err(_) if self.silent_since.is_some() => Vec::new(),
            Err(unanswered) => {
                self.silent_since = Some(at);
                vec![event("silent", unanswered.failure.to_string())]
            }
        }
    }

    fn answers(&mut self, at: Duration) -> Option<TimeEvent> {
        let after = at - self.silent_since.take()?;
        Some(event("answers", format!("ptp4l answers again, after {}", show(after.as_nanos() as u64))))
    }

    fn time(&mut self, now_ns: u64, answer: &Answer) -> Vec<TimeEvent> {
        // The process that knows may have just begun, and report a moment later.
        let before = self.watch.as_ref().map(|(_, free_running)| *free_running);
        let free_running = answer.report.as_ref().map(|report| report.free_running).or(before).unwrap_or_default();
        match &mut self.watch {
            Some((watch, before)) if *before == free_running => {
                let happened = watch.update(now_ns, &answer.seen);
                happened.iter().map(|one| self.sentences.event(one)).map(|(name, text)| event(name, text)).collect()
            }
            // Nothing was before the first answer, nor before the first of a clock that is steered otherwise.
            _ => {
                let mut watch = Watch::new(self.node, free_running, now_ns);
                watch.update(now_ns, &answer.seen);
                self.watch = Some((watch, free_running));
                Vec::new()
            }
        }
    }
}

fn event(event: &str, text: String) -> TimeEvent {
    TimeEvent { event: event.into(), text }
}
