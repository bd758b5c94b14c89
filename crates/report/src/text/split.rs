//! Latencies in parts.

use ontick_record::Run;

use super::Style;
use super::lines::{hanging, shortened};
use crate::causes::price;
use crate::figures::latency;
use crate::printable::printable;
use crate::split::{HEADS, of};

/// A table for each series that was split, and what tracing cost; nothing where none was.
pub(super) fn split(run: &Run, style: &Style) -> String {
    let (mut text, all) = (String::new(), of(run));
    for parts in &all {
        let head = printable(&format!("{}, in parts", parts.series.name));
        let rows = parts.rows().map(|(name, figures)| (name, figures.map(latency)));
        let longest = rows.iter().map(|(name, _)| name.len()).chain([head.chars().count()]).max().unwrap_or(0);
        // The longest name goes before the figures do.
        let label = longest.min(style.width.saturating_sub(2 + HEADS.len() * FIGURE)).max(8);
        let line = |name: &str, cells: &[String]| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>FIGURE$}")).collect();
            format!("  {:label$}{cells}\n", shortened(name, label))
        };
        text.push_str(&format!("\n{}", line(&head, &HEADS.map(String::from))));
        rows.iter().for_each(|(name, cells)| text.push_str(&line(name, cells)));
        text.push_str(&hanging("  ", "", &parts.note(), style.width));
        text.extend(price(parts.series).map(|price| hanging("  ", "", &price, style.width)));
    }
    text
}

/// A column of figures, with the gap before it.
const FIGURE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::tests::run;
    use ontick_record::run::Tracing;

    #[test]
    fn the_whole_stands_below_its_parts_with_what_tracing_cost() {
        let mut run = run();
        run.series[0].tracing = Some(Tracing { events: 12, event_cost_ns: 150, ..Tracing::default() });
        let wanted = "
  timerfd, in parts     p50     p99     max
  interrupt          1.10us  40.0us  40.0us
  wake-up             300ns   310ns   310ns
  run                2.00us  2.10us  2.10us
  the whole          3.15us  42.4us  42.4us
  The parts of a sample sum up to the whole; their percentiles need not. 1 of 4
  samples could not be split: the thread had not slept, or events were lost.
  Tracing recorded 12 events, each about 150ns; the latencies have its cost in
  them.
";
        assert_eq!(split(&run, &Style::default()), wanted);
        let narrow = split(&run, &Style { width: 40, ..Style::default() });
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        run.series.remove(0);
        assert_eq!(split(&run, &Style::default()), "");
    }
}
