//! All that was journalled: the run, and of its outliers what is kept.

use std::io;

use serde::{Deserialize, Serialize};

use super::added::{Added, KeptOutliers};
use crate::moments::Moments;
use crate::outliers::Outliers;
use crate::run::{Cause, Outlier, Run, Series};

pub(super) const JOURNAL: &str = "ontick-journal/1";

#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) journal: String,
    pub(super) run: Run,
    /// Outliers so far, for each series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) outliers: Vec<Outliers>,
}

/// All that was journalled.
pub(super) struct SoFar {
    pub(super) run: Run,
    pub(super) outliers: Vec<Outliers>,
}

impl SoFar {
    pub(super) fn first_line(&self) -> io::Result<Vec<u8>> {
        let header = Header { journal: JOURNAL.into(), run: self.run.clone(), outliers: self.outliers.clone() };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Takes in what a second added, and says what of it is to be written.
    pub(super) fn add(&mut self, mut added: Added) -> Result<Added, String> {
        let none = "names a series that the run does not have";
        let outliers = self.outliers.get_mut(added.series).ok_or(none)?;
        let count = added.outliers.len() as u64;
        let kept = match added.kept.take() {
            Some(kept) => {
                for outlier in &added.outliers {
                    outliers.admit_to_worst(*outlier);
                }
                kept.sampled.iter().for_each(|(place, outlier)| outliers.put(*place, *outlier));
                kept
            }
            None => {
                let mut kept = KeptOutliers { causes: counted(&added.outliers), ..KeptOutliers::default() };
                added.outliers.retain(|outlier| {
                    let admission = outliers.admit(*outlier);
                    kept.sampled.extend(admission.place.map(|place| (place, *outlier)));
                    admission.worst
                });
                kept
            }
        };
        added.outlier_count = added.outlier_count.max(count);
        added.kept = Some(kept);
        apply(&mut self.run, &added)?;
        Ok(added)
    }

    pub(super) fn into_run(mut self) -> Run {
        for (series, outliers) in self.run.series.iter_mut().zip(&self.outliers) {
            series.outliers.extend(outliers.all());
            describe_causes(series, outliers.sample());
        }
        self.run
    }
}

/// How many outliers have which cause.
fn counted(outliers: &[Outlier]) -> Vec<(u32, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    outliers.iter().filter_map(|outlier| outlier.cause).for_each(|cause| *counts.entry(cause).or_insert(0) += 1);
    counts.into_iter().collect()
}

fn apply(run: &mut Run, added: &Added) -> Result<(), String> {
    let series = run.series.get_mut(added.series).ok_or("names a series that the run does not have")?;
    if let Some(settings) = &added.settings {
        // The timed thread does not know what runs beside it.
        let load = std::mem::take(&mut series.settings.load);
        series.settings = (**settings).clone();
        if series.settings.load.is_empty() {
            series.settings.load = load;
        }
    }
    let latency = &mut series.latency;
    let before = latency.count();
    let (min_ns, max_ns, moments) = (latency.min_ns, latency.max_ns, latency.moments());
    // Bucket by bucket: a journal has a line for each second, and merging whole histograms would take
    // most of the time that reading an 18-hour run does.
    added.buckets.iter().for_each(|b| latency.add(b.low_ns, b.width_ns, b.count));
    latency.check().map_err(|e| e.to_string())?;
    // The buckets' edges are not as exact as what the recorder saw.
    let came = latency.count().saturating_sub(before);
    let new = added.mean_ns.map(|mean_ns| Moments { count: came, mean_ns, std_dev_ns: added.std_dev_ns });
    latency.min_ns = [min_ns, added.min_ns].into_iter().flatten().min().or(latency.min_ns);
    latency.max_ns = max_ns.max(added.max_ns).or(latency.max_ns);
    let moments = match (moments, new) {
        (None, new) if before == 0 => new,
        (Some(old), Some(new)) => Some(old.joined(new)),
        (old, _) => old,
    };
    latency.mean_ns = moments.map(|moments| moments.mean_ns);
    latency.std_dev_ns = moments.and_then(|moments| moments.std_dev_ns);
    series.missed = series.missed.saturating_add(added.missed);
    if let Some(more) = &added.round_trips {
        series.round_trips.get_or_insert_default().add(more);
    }
    if !added.is_time_alone() {
        series.maxima.step_ns = 1_000_000_000;
        series.maxima.max_ns.push(added.second_max_ns);
    }
    series.outlier_count = series.outlier_count.saturating_add(added.outlier_count);
    let named = added.causes.iter().cloned();
    series.causes.extend(named.map(|name| Cause { cause: name.cause, detail: name.detail, ..Cause::default() }));
    for (cause, count) in added.kept.iter().flat_map(|kept| &kept.causes) {
        if let Some(cause) = series.causes.get_mut(*cause as usize) {
            cause.count = cause.count.saturating_add(*count);
        }
    }
    run.duration_ns = run.duration_ns.max(added.duration_ns);
    Ok(())
}

/// How often each cause was is counted; the rest is reported by a fair sample of the outliers, and by the worst.
fn describe_causes(series: &mut Series, sample: &[Outlier]) {
    let known = series.causes.len();
    let all: u64 = series.causes.iter().map(|cause| cause.count).fold(0, u64::saturating_add);
    for (index, cause) in series.causes.iter_mut().enumerate() {
        let of_it = |outlier: &&Outlier| outlier.cause == Some(index as u32);
        let mut latencies: Vec<u64> = sample.iter().filter(of_it).map(|outlier| outlier.latency_ns).collect();
        latencies.sort_unstable();
        cause.share = cause.count as f64 / all.max(1) as f64;
        cause.max_ns = series.outliers.iter().filter(of_it).map(|outlier| outlier.latency_ns).max().unwrap_or(0);
        cause.p50_ns = latencies.get(latencies.len() / 2).copied().unwrap_or(cause.max_ns);
        let sampled_ns: f64 = latencies.iter().map(|ns| *ns as f64).sum();
        let mean_ns = if latencies.is_empty() { cause.max_ns as f64 } else { sampled_ns / latencies.len() as f64 };
        cause.sum_ns = (mean_ns * cause.count as f64) as u64;
    }
    for outlier in &mut series.outliers {
        outlier.cause = outlier.cause.filter(|index| (*index as usize) < known);
    }
}
