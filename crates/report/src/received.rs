//! What a test of a wire says: how far the pulses that arrived are from those that were sent.

use ontick_record::{Measurement, Run, Series};
use ontick_units::show;

/// In a sentence or two; none of other runs.
pub(crate) fn verdict(run: &Run) -> Option<String> {
    if run.measurement != Measurement::LinkTest {
        return None;
    }
    let side = |loaded: bool| {
        let series = run.series.iter().filter(move |s| s.case.loaded.unwrap_or(false) == loaded);
        let off_ns = series.filter_map(off_ns).max()?;
        let when = if loaded { "under load" } else { "without load" };
        Some(format!("by {} at most {when}", show(off_ns)))
    };
    let sides: Vec<String> = [false, true].into_iter().filter_map(side).collect();
    Some(match sides.join(", ") {
        said if said.is_empty() => "No pulse arrived, so there is no verdict.".into(),
        said => format!("99 % of the pulses are off {said}."),
    })
}

/// By how much 99 % of the pulses of this width are off, at most.
fn off_ns(series: &Series) -> Option<u64> {
    let pulse = series.pulse.as_ref().filter(|p| !p.width.is_empty())?;
    let off = |share| Some(pulse.width.quantile(share)?.abs_diff(pulse.wanted_ns));
    off(0.005).max(off(0.995))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::Case;
    use ontick_record::run::Pulse;

    #[test]
    fn the_width_that_is_furthest_off_decides() {
        let mut run = Run::new("ontick", Measurement::LinkTest);
        assert_eq!(verdict(&run).unwrap(), "No pulse arrived, so there is no verdict.");
        for (loaded, wanted_ns, off_ns) in [(false, 100_000, 2_000), (false, 200_000, 9_000), (true, 100_000, 70_000)] {
            let case = Case { width_ns: Some(wanted_ns), loaded: Some(loaded), ..Case::default() };
            let mut pulse = Pulse { wanted_ns, ..Pulse::default() };
            pulse.width.add(wanted_ns, 1, 50);
            pulse.width.add(wanted_ns + off_ns, 1, 50);
            run.series.push(Series { pulse: Some(pulse), ..case.into() });
        }
        assert_eq!(
            verdict(&run).unwrap(),
            "99 % of the pulses are off by 9.00us at most without load, by 70.0us at most under load."
        );
        assert_eq!(verdict(&Run::new("ontick", Measurement::Pulse)), None);
    }
}
