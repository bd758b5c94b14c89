//! What `ontick watch` costs: memory, processor time, wake-ups, the loop beside it, a scrape, its page and
//! those who look at it.

mod beside;
mod page;
mod scrape;
mod service;
mod watchers;

use ontick_record::compare::Spread;

use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::side::Job;

use service::Costs;

/// What must be reached.
const RESIDENT_KIB: u64 = 30 * 1024;
const SHARE: f64 = 0.005;
const RATIO: f64 = 1.05;
const SCRAPE_MS: f64 = 5.0;
const SCRAPE_BYTES: usize = 40_000;
const PAGE_BYTES: usize = 300_000;
const PAINT_MS: f64 = 300.0;
const MONTH_MS: f64 = 500.0;
/// Of one CPU, for all watchers together.
const WATCHERS_SHARE: f64 = 0.01;
/// CPUs of the machine whose figures are fetched; those beyond this machine's are copies.
pub const CPUS: u16 = 64;

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// How long the service is looked at, in seconds.
    pub seconds: u64,
    /// Pairs of blocks of the loop beside it.
    pub pairs: u32,
}

/// Everything that was seen.
pub struct Figures {
    costs: Costs,
    /// p99 with the service divided by p99 without.
    ratio: Spread,
    scrape: scrape::Scrape,
    page_bytes: usize,
    /// Nothing where there is no browser.
    drawn: Option<page::Drawn>,
    watchers: watchers::Cost,
}

/// Measures all of it.
pub fn measure(job: &Job, size: Size, shown: &mut Page) -> Result<Figures, String> {
    let costs = service::costs(job, size.seconds)?;
    let ratio = beside::ratio(job, size.pairs)?;
    let scrape = scrape::measure(job)?;
    let page_bytes = page::bytes(job)?;
    let drawn = page::drawn(job)?;
    let watchers = watchers::measure(job, size.pairs)?;

    let mut table = Table::of_words(&["figure", "seen"]);
    table.row(["largest resident set".into(), format!("{:.1} MB", costs.peak_kib as f64 / 1024.0)]);
    table.row(["share of one CPU, blocks and page included".into(), format!("{:.3} %", costs.share * 100.0)]);
    table.row(["wake-ups per second, beside those that are measured".into(), format!("{:.1}", costs.wakeups)]);
    table.row([
        format!("p99 of a 1 kHz hybrid loop on CPU {}, with / without", job.cpu),
        format!("{:.3} ({:.3}–{:.3}), {} pairs", ratio.median, ratio.min, ratio.max, ratio.pairs),
    ]);
    for (name, one) in [("text", &scrape.text), ("native histograms (protobuf)", &scrape.native)] {
        table.row([
            format!("/metrics of {CPUS} CPUs, {name}"),
            format!("{:.2} ms, {:.1} kB, packed {:.1} kB", one.ms, one.bytes as f64 / 1e3, one.packed as f64 / 1e3),
        ]);
    }
    table.row(["page in all".into(), format!("{:.1} kB", page_bytes as f64 / 1e3)]);
    if let Some(drawn) = &drawn {
        table.row(["first paint".into(), format!("{:.0} ms", drawn.paint_ms)]);
        table.row(["a month on screen, from the start of loading".into(), format!("{:.0} ms", drawn.month_ms)]);
    }
    for (what, cost) in [("take its stream", &watchers.streams), ("have its page open", &watchers.pages)] {
        let percent = |share: f64| share * 100.0;
        table.row([
            format!("{} that {what}, share of one CPU in all", watchers::WATCHERS),
            format!(
                "{:.3} % ({:.3}–{:.3}), {} pairs",
                percent(cost.median),
                percent(cost.min),
                percent(cost.max),
                cost.pairs
            ),
        ]);
    }
    shown.heading("What the service that watches costs");
    shown.table(&table);
    shown.words(&format!(
        "ontick watch on all CPUs with its defaults, looked at for {} s after its first round. The wake-ups that it measures come on top: 200 on each CPU every 10 s. The loop beside it runs in pairs of blocks, A B, B A, …, while the service watches the other CPUs. The machine of {CPUS} CPUs is modelled: the record of this one, with its CPUs copied. Times of requests are medians of {}, locally; those of the page are Chromium's own (headless), medians of {}.",
        size.seconds,
        scrape::TIMES,
        page::TIMES,
    ));
    Ok(Figures { costs, ratio, scrape, page_bytes, drawn, watchers })
}

/// What must be reached, held against what was seen.
pub fn goals(seen: &Figures) -> Vec<Goal> {
    let Figures { costs, ratio, scrape, page_bytes, drawn, watchers } = seen;
    let packed = scrape.text.packed.max(scrape.native.packed);
    let ms = scrape.text.ms.max(scrape.native.ms);
    let kb = |bytes: usize| format!("{:.1} kB", bytes as f64 / 1e3);
    let of_page = |what: &str, limit: f64, of: fn(&page::Drawn) -> f64| {
        let seen = drawn.as_ref().map(|drawn| (format!("{:.0} ms", of(drawn)), of(drawn) <= limit));
        Goal::new(what, format!("≤ {limit} ms"), seen)
    };
    let of_watchers = |what: &str, cost: &Spread| {
        Goal::new(
            format!("{} that {what}, share of one CPU", watchers::WATCHERS),
            format!("median ≤ {} %", WATCHERS_SHARE * 100.0),
            Some((format!("{:.3} %", cost.median * 100.0), cost.median <= WATCHERS_SHARE)),
        )
    };
    vec![
        Goal::new(
            "resident memory of watch",
            "≤ 30 MB",
            Some((format!("{:.1} MB", costs.peak_kib as f64 / 1024.0), costs.peak_kib <= RESIDENT_KIB)),
        ),
        Goal::new(
            "share of one CPU, watch",
            format!("≤ {} %", SHARE * 100.0),
            Some((format!("{:.3} %", costs.share * 100.0), costs.share <= SHARE)),
        ),
        Goal::new(
            "p99 of a 1 kHz hybrid loop on another CPU, with / without watch",
            format!("median ≤ {RATIO}"),
            Some((format!("{:.3}", ratio.median), ratio.median <= RATIO)),
        ),
        Goal::new(
            format!("scrape of {CPUS} CPUs (modelled)"),
            format!("≤ {SCRAPE_MS} ms, ≤ {} packed", kb(SCRAPE_BYTES)),
            Some((format!("{ms:.2} ms, {}", kb(packed)), ms <= SCRAPE_MS && packed <= SCRAPE_BYTES)),
        ),
        Goal::new("page in all", format!("≤ {}", kb(PAGE_BYTES)), Some((kb(*page_bytes), *page_bytes <= PAGE_BYTES))),
        of_page("first paint", PAINT_MS, |drawn| drawn.paint_ms),
        of_page("a month on screen", MONTH_MS, |drawn| drawn.month_ms),
        of_watchers("take the stream", &watchers.streams),
        of_watchers("have the page open", &watchers.pages),
    ]
}
