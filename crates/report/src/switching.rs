//! A switch under test in words: what it is, what was found, and what that means.

use ontick_record::switching::{Class, Switching, Trial, Violation};
use ontick_units::{exact, show};

use crate::line::Line;
use crate::number::{count, counted, decimals_needed, percent_down, plain};

/// What was tried out, line by line.
pub(crate) fn lines(switch: &Switching) -> Vec<Line> {
    let mut lines = vec![Line { label: "switch", parts: vec![switch.about.clone()] }];
    let Some(trial) = switch.trials.first() else { return lines };
    let always = |class: &Class| class.windows.iter().any(|window| window.1 >= switch.cycle_ns);
    if !trial.classes.iter().all(always) {
        let gates: Vec<String> = trial.classes.iter().map(gate).collect();
        let cycle = format!("cycle {}: {}", exact(switch.cycle_ns), gates.join(", "));
        lines.push(Line { label: "gates", parts: vec![cycle, format!("clock {}", switch.clock)] });
    }
    let slopes: Vec<String> = trial.classes.iter().filter_map(slope).collect();
    if !slopes.is_empty() {
        lines.push(Line { label: "shapers", parts: vec![format!("idle slopes {}", slopes.join(", "))] });
    }
    let classes = counted(trial.classes.len() as u64, "flow");
    let way = format!("{classes} from {} to {} at {}", switch.from, switch.to, bits(switch.rate));
    let stamped = format!("stamped by the {}", if switch.stamps == "hardware" { "port" } else { "kernel" });
    lines.push(Line { label: "frames", parts: vec![way, sizes(trial), stamped, plain(trial.duration_ns)] });
    lines
}

/// `blue 800us`: how long of each cycle a class's gate is open.
fn gate(class: &Class) -> String {
    let open_ns: u64 = class.windows.iter().map(|window| window.1).fold(0, u64::saturating_add);
    if open_ns == 0 { format!("{} never", class.name) } else { format!("{} {}", class.name, plain(open_ns)) }
}

/// `audio 20 Mb/s`
fn slope(class: &Class) -> Option<String> {
    class.shaped.as_ref().map(|shaped| format!("{} {}", class.name, bits(shaped.idle_slope)))
}

fn sizes(trial: &Trial) -> String {
    let sizes = || trial.classes.iter().map(|class| class.octets);
    match (sizes().min(), sizes().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} octets"),
        (_, most) => format!("{} octets", most.unwrap_or(0)),
    }
}

/// `1 Gb/s`, `100 Mb/s`
fn bits(rate: u64) -> String {
    match rate {
        rate if rate >= 1_000_000_000 => format!("{} Gb/s", rate as f64 / 1e9),
        rate => format!("{} Mb/s", rate as f64 / 1e6),
    }
}

/// What it means, in a few sentences.
pub(crate) fn verdict(switch: &Switching) -> String {
    let load = switch.judged().or(switch.trials.first()).and_then(load).unwrap_or_default();
    load + &found(switch)
}

/// What was sent of what was asked for, and what became of it.
fn load(trial: &Trial) -> Option<String> {
    let sent = trial.sum(|class| class.sent);
    let asked = trial.sent_of_asked();
    let asked_for: u64 = asked.iter().map(|share| share.whole).fold(0, u64::saturating_add);
    let mut text = match (asked.len() == trial.classes.len(), sent < asked_for) {
        _ if trial.classes.is_empty() => return None,
        (false, _) => format!("{} sent, as many as the sender could.", was(sent)),
        (true, false) => format!("All {} that were asked for were sent.", counted(sent, "frame")),
        (true, true) => format!(
            "Of {} asked for {} ({}) {} sent, {} not.",
            counted(asked_for, "frame"),
            count(sent),
            share(sent, asked_for),
            if sent == 1 { "was" } else { "were" },
            count(asked_for - sent)
        ),
    };
    let (dropped, lost) = (trial.sum(|class| class.dropped), trial.lost());
    let of_sent =
        |frames| if frames == 0 { "none".into() } else { format!("{} ({})", count(frames), share(frames, sent)) };
    text.push_str(&match (dropped, lost) {
        (0, 0) => " None was dropped or lost. ".to_string(),
        _ => format!(" The switch dropped {} of them, {} got lost elsewhere. ", of_sent(dropped), of_sent(lost)),
    });
    Some(text)
}

fn found(switch: &Switching) -> String {
    let arrived = |trial: &&Trial| trial.sum(|class| class.judged) > 0;
    let ungated = |trial: &&Trial| !trial.gates && trial.is_shaped() && trial.sum(|class| class.received) > 0;
    if let Some(trial) = switch.judged().filter(ungated) {
        return shaped(trial).unwrap_or_default() + &uncounted(trial);
    }
    let Some(trial) = switch.judged().filter(arrived).or_else(|| switch.trials.iter().find(arrived)) else {
        return "No frame arrived, so the gates cannot be judged.".into();
    };
    let (outside, judged) = (trial.sum(|class| class.outside), trial.sum(|class| class.judged));
    let guard =
        if switch.guard_ns > 0 { format!(", {} of tolerance included", plain(switch.guard_ns)) } else { String::new() };
    let mut text = match (trial.gates, outside) {
        (true, 0) => format!("All {} arrived within their windows{guard}.", counted(judged, "frame")),
        (true, _) => format!(
            "Of {} {} arrived outside {} ({}){guard}.",
            counted(judged, "frame"),
            count(outside),
            if outside == 1 { "its window" } else { "their windows" },
            share(outside, judged)
        ),
        (false, _) => format!(
            "Without gates, {} of {} arrived outside the windows.",
            share(outside, judged),
            counted(judged, "frame")
        ),
    };
    if let Some(sentence) = shaped(trial).filter(|_| trial.gates) {
        text.push(' ');
        text.push_str(&sentence);
    }
    text.push_str(&uncounted(trial));
    if let Some(open) = switch.trials.iter().find(|other| trial.gates && !other.gates && arrived(other)) {
        let [outside, judged] = [open.sum(|class| class.outside), open.sum(|class| class.judged)];
        text.push_str(&format!(" With the gates off, {} were outside.", share(outside, judged)));
    }
    text
}

fn uncounted(trial: &Trial) -> String {
    match trial.unaccounted() {
        0 => " Every lost frame was counted.".to_string(),
        missing if missing > 0 => format!(" {} lost without being counted.", was(missing as u64)),
        more => format!(" {} counted as lost than were.", was(more.unsigned_abs()).replace("frame", "more frame")),
    }
}

/// Whether shaped classes kept to their idle slopes.
fn shaped(trial: &Trial) -> Option<String> {
    let shaped: Vec<&Class> = trial.classes.iter().filter(|class| class.shaped.is_some()).collect();
    let name = match shaped[..] {
        [] => return None,
        [class] => class.name.clone(),
        _ => "Shaped classes".into(),
    };
    let own = if shaped.len() == 1 { "its idle slope" } else { "their idle slopes" };
    let (beyond, received) = trial.beyond();
    Some(match beyond {
        0 => format!("{name} kept to {own}."),
        _ => {
            format!("{name} did not keep to {own}: {} of {} came too early.", count(beyond), counted(received, "frame"))
        }
    })
}

fn was(n: u64) -> String {
    format!("{} {}", counted(n, "frame"), if n == 1 { "was" } else { "were" })
}

/// A small share in parts per million, a large one in percent.
fn share(part: u64, whole: u64) -> String {
    let per_million = part as f64 * 1e6 / whole.max(1) as f64;
    match per_million {
        p if p < 1_000.0 => format!("{:.1} per million", p),
        _ => format!("{} %", percent_down(part, whole, decimals_needed(whole - part.min(whole), whole).min(1))),
    }
}

/// What else must be said of a trial, line by line: frames lost at places where no class is known, and violations by
/// their cause.
pub(crate) fn remarks(trial: &Trial) -> Vec<String> {
    let lost = |lost: &ontick_record::switching::Lost| {
        format!("{} lost and counted: {}", counted(lost.frames, "frame"), lost.place)
    };
    let mut all: Vec<String> = trial.classes.iter().filter_map(kept).collect();
    all.extend(trial.classes.iter().filter_map(drops));
    all.extend(trial.elsewhere.iter().map(lost));
    let ends = trial.sum(|class| class.ends_outside);
    if ends > 0 && trial.gates {
        all.push(format!("{} began within the window and ended after it", counted(ends, "frame")));
    }
    let refused = trial.sum(|class| class.refused);
    if refused > 0 {
        all.push(format!("{} could not be sent: the sending port was full", counted(refused, "further frame")));
    }
    if trial.gates {
        all.extend(causes(trial));
    }
    all
}

/// On which side of a window, and whether their beginning was there or their end alone.
pub(crate) fn side(violation: &Violation) -> &'static str {
    match (violation.late, violation.ends) {
        (true, true) => "after closing (their end)",
        (true, false) => "after closing",
        (false, _) => "before opening",
    }
}

/// How a class kept to its idle slope.
fn kept(class: &Class) -> Option<String> {
    let shaped = class.shaped.as_ref().filter(|_| class.received > 0)?;
    let beyond = match shaped.beyond {
        0 => String::new(),
        beyond => format!(", {} beyond it", counted(beyond, "frame")),
    };
    Some(format!(
        "{}: {:.3} Mb/s of an idle slope of {}; largest burst {} bits of {} allowed{beyond}",
        class.name,
        shaped.observed_rate as f64 / 1e6,
        bits(shaped.idle_slope),
        count(shaped.observed_burst_bits),
        count(shaped.burst_bits)
    ))
}

/// Why frames of a class were dropped.
fn drops(class: &Class) -> Option<String> {
    let causes: Vec<String> = class.drops.iter().map(|lost| format!("{} {}", count(lost.frames), lost.place)).collect();
    (!causes.is_empty()).then(|| format!("{}: dropped: {}", class.name, causes.join(", ")))
}

/// How many frames were outside by which cause.
fn causes(trial: &Trial) -> Vec<String> {
    let all: u64 = trial.sum(|class| class.outside);
    if all == 0 {
        return Vec::new();
    }
    let explained: u64 =
        trial.violations.iter().filter(|violation| violation.cause.is_some()).map(|violation| violation.frames).sum();
    let longest = trial.stalls.iter().map(|stall| stall.length_ns).max().unwrap_or(0);
    let mut parts = Vec::new();
    if explained > 0 {
        parts.push(format!("{} held up in the switch (for {} at most)", count(explained), show(longest)));
    }
    if all > explained {
        parts.push(format!("{} without a known cause", count(all - explained)));
    }
    vec![format!("outside: {}", parts.join(", "))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::switching::{Shaped, Stall, Violation};

    fn switch(outside: u64) -> Switching {
        let class = Class {
            name: "blue".into(),
            sent: 1_000_000,
            received: 1_000_000,
            judged: 1_000_000,
            outside,
            ..Class::default()
        };
        let trial = Trial { gates: true, classes: vec![class], ..Trial::default() };
        Switching { guard_ns: 1_000, trials: vec![trial], ..Switching::default() }
    }

    #[test]
    fn the_load_is_said_before_what_was_found() {
        let mut all = switch(0);
        all.trials[0].duration_ns = 1_000_000_000;
        let said = |all: &Switching| load(&all.trials[0]).unwrap();
        assert_eq!(said(&all), "1 000 000 frames were sent, as many as the sender could. None was dropped or lost. ");
        all.trials[0].classes[0].offered = Some(1_000_000);
        assert_eq!(said(&all), "All 1 000 000 frames that were asked for were sent. None was dropped or lost. ");
        all.trials[0].classes[0].offered = Some(20_000_000);
        all.trials[0].classes[0].dropped = 220_000;
        all.trials[0].classes[0].received = 779_999;
        assert_eq!(
            said(&all),
            "Of 20 000 000 frames asked for 1 000 000 (5.0 %) were sent, 19 000 000 not. The switch dropped 220 000 (22.0 %) of them, 1 (1.0 per million) got lost elsewhere. "
        );
        assert!(verdict(&all).starts_with("Of 20 000 000 frames asked for"));
    }

    #[test]
    fn verdicts_say_what_was_seen() {
        let verdict = found;
        assert_eq!(
            verdict(&switch(0)),
            "All 1 000 000 frames arrived within their windows, 1us of tolerance included. Every lost frame was counted."
        );
        assert_eq!(
            verdict(&switch(3)),
            "Of 1 000 000 frames 3 arrived outside their windows (3.0 per million), 1us of tolerance included. Every lost frame was counted."
        );
        let mut lossy = switch(250_000);
        lossy.trials[0].classes[0].sent += 2;
        lossy.trials[0].gates = false;
        assert_eq!(
            verdict(&lossy),
            "Without gates, 25.0 % of 1 000 000 frames arrived outside the windows. 2 frames were lost without being counted."
        );
        assert_eq!(verdict(&Switching::default()), "No frame arrived, so the gates cannot be judged.");
    }

    #[test]
    fn a_shaped_class_has_its_rate_and_its_burst() {
        let mut all = switch(0);
        let trial = &mut all.trials[0];
        (trial.gates, trial.classes[0].judged) = (false, 0);
        let shaped = Shaped {
            idle_slope: 20_000_000,
            burst_bits: 12_600,
            observed_burst_bits: 12_500,
            beyond: 0,
            observed_rate: 19_994_000,
        };
        trial.classes[0].shaped = Some(shaped);
        assert_eq!(found(&all), "blue kept to its idle slope. Every lost frame was counted.");
        let remark = "blue: 19.994 Mb/s of an idle slope of 20 Mb/s; largest burst 12 500 bits of 12 600 allowed";
        assert_eq!(remarks(&all.trials[0]), [remark]);
        all.trials[0].classes[0].shaped.as_mut().unwrap().beyond = 3;
        assert!(found(&all).starts_with("blue did not keep to its idle slope: 3 of 1 000 000 frames came too early."));
        assert!(remarks(&all.trials[0])[0].ends_with(", 3 frames beyond it"));
        // With gates both are said.
        all.trials[0].gates = true;
        all.trials[0].classes[0].judged = 1_000_000;
        let both = "All 1 000 000 frames arrived within their windows, 1us of tolerance included. blue did not keep";
        assert!(found(&all).starts_with(both), "{}", found(&all));
    }

    #[test]
    fn causes_are_counted() {
        let mut trial = switch(5).trials.remove(0);
        trial.violations =
            vec![Violation { frames: 4, cause: Some("the switch did not run".into()), ..Violation::default() }];
        trial.stalls = vec![Stall { length_ns: 5_200_000, ..Stall::default() }];
        assert_eq!(remarks(&trial), ["outside: 4 held up in the switch (for 5.20ms at most), 1 without a known cause"]);
    }
}
