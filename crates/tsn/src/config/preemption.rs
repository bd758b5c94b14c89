//! Frame preemption: the `[port.preemption]` tables.

use toml::Spanned;

use super::class::{Draft as Class, class_index};
use super::problem::{Report, Reported};
use super::table::{At, Table, text};
use super::value_error::ValueError;
use super::values;
use crate::model::Preemption;

const MILLISECOND: u64 = 1_000_000;
/// Usual, and longest that Linux takes (linux/ethtool.h), in ms.
pub(super) const VERIFY_TIME_MS: u32 = 10;
const LONGEST_VERIFY_TIME_MS: u64 = 128;
/// Fragments that a receiver may ask for, in octets without their check sequence: 64 x (1 + addFragSize) - 4 (IEEE
/// 802.3-2022 clause 99.4.4).
pub(super) const FRAGMENT_SIZES: [u32; 4] = [60, 124, 188, 252];

/// Of these classes, with all else as usual.
pub(crate) fn preemption_of(preemptible: Vec<usize>) -> Preemption {
    Preemption { preemptible, verify: true, verify_time_ms: VERIFY_TIME_MS, min_fragment_size: FRAGMENT_SIZES[0] }
}

pub(super) fn preemption(mut table: Table, classes: &[Class], report: &mut Report) -> Result<Preemption, Reported> {
    let preemptible = preemptible(&mut table, classes, report);
    let verify = table.flag("verify", report);
    let verify_time = table.parsed("verify-time", report, |text| match values::time(text)? {
        ns if ns % MILLISECOND == 0 && (1..=LONGEST_VERIFY_TIME_MS).contains(&(ns / MILLISECOND)) => {
            Ok((ns / MILLISECOND) as u32)
        }
        _ => Err(ValueError::is_not(text, "whole milliseconds from 1ms to 128ms (10ms is usual)")),
    });
    let size = fragment_size(&mut table, report);
    table.finish(report);
    let (verify, verify_time) = (verify?.unwrap_or(true), verify_time?);
    if let (false, Some(time)) = (verify, &verify_time) {
        return Err(report.error(time.span(), "`verify-time` goes with verify = true alone; leave it out"));
    }
    Ok(Preemption {
        preemptible: preemptible?,
        verify,
        verify_time_ms: verify_time.map_or(VERIFY_TIME_MS, Spanned::into_inner),
        min_fragment_size: size?,
    })
}

fn preemptible(table: &mut Table, classes: &[Class], report: &mut Report) -> Result<Vec<usize>, Reported> {
    const KEY: &str = "preemptible";
    let list = table.list(KEY, report);
    let list = table.require(KEY, "preemptible = [\"blue\"]", list, report)?;
    let mut all = Ok(Vec::new());
    for value in *list.get_ref() {
        let class = text(value, KEY, report).and_then(|name| class_index(name.get_ref(), name.span(), classes, report));
        all = all.and_then(|mut all: Vec<usize>| {
            all.push(class?);
            Ok(all)
        });
    }
    let mut all = all?;
    all.sort_unstable();
    all.dedup();
    match all.len() {
        0 => Err(report.error(list.span(), "no class is preemptible; name one, or leave [port.preemption] out")),
        n if n == classes.len() => {
            let what =
                "a frame is preempted by one of a class that is not preemptible; leave one class out of the list";
            Err(report.error(list.span(), what))
        }
        _ => Ok(all),
    }
}

fn fragment_size(table: &mut Table, report: &mut Report) -> Result<u32, Reported> {
    const KEY: &str = "min-fragment-size";
    let size: Option<At<u64>> = table.whole(KEY, 0..=u32::MAX.into(), report)?;
    let Some(size) = size else { return Ok(FRAGMENT_SIZES[0]) };
    let is = |known: &&u32| u64::from(**known) == *size.get_ref();
    FRAGMENT_SIZES.iter().find(is).copied().ok_or_else(|| {
        let what = format!("`{KEY}` is 60, 124, 188 or 252 octets, not {}", size.get_ref());
        report.error(size.span(), what)
    })
}
