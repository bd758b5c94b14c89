//! Traffic classes: the `[[class]]` tables.

use std::ops::Range;

use toml::Spanned;

use super::problem::{Report, Reported};
use super::rule::rule;
use super::table::{At, Read, Table, table};
use super::{suggest, values};
use crate::model::{CLASSES, Class, Rule};

/// Frames that wait on one port for a class whose limit is not said.
pub(super) const LIMIT: u32 = 512;
/// Memory is bounded: so many frames of 2 KiB are 128 MiB.
const MOST_WAITING: u64 = 65_536;
/// More rules than that in a class are looked up too slowly.
const MOST_RULES: usize = 256;

/// A class as far as it could be read.
pub(super) struct Draft {
    pub(super) span: Range<usize>,
    pub(super) name: Result<At<String>, Reported>,
    pub(super) queue: Result<At<u8>, Reported>,
    limit: Result<u32, Reported>,
    /// Whether the class says which frames it takes.
    pub(super) matches: bool,
    pub(super) rules: Result<Vec<At<Rule>>, Reported>,
}

impl Draft {
    pub(super) fn named(&self, name: &str) -> bool {
        self.name.as_ref().is_ok_and(|own| own.get_ref() == name)
    }

    pub(super) fn class(&self) -> Result<Class, Reported> {
        Ok(Class {
            name: self.name.clone()?.into_inner(),
            queue: self.queue.clone()?.into_inner(),
            rules: self.rules.clone()?.into_iter().map(Spanned::into_inner).collect(),
            limit: self.limit?,
        })
    }
}

pub(super) fn class(mut table: Table, report: &mut Report) -> Draft {
    let name = table.parsed("name", report, values::class_name);
    let name = table.require("name", "name = \"red\"", name, report);
    let queue = table.whole("queue", 0..=CLASSES as u64 - 1, report);
    let queue = table.require("queue", "queue = 1", queue, report);
    let limit = table.whole("limit", 1..=MOST_WAITING, report);
    let matches = table.has("match");
    let rules = rules(&mut table, report);
    let span = table.span();
    table.finish(report);
    Draft {
        span,
        name,
        queue: queue.map(|queue| At::new(queue.span(), queue.into_inner() as u8)),
        limit: limit.map(|limit| limit.map_or(LIMIT, |limit| limit.into_inner() as u32)),
        matches,
        rules: rules.map(Option::unwrap_or_default),
    }
}

fn rules(table_: &mut Table, report: &mut Report) -> Read<Vec<At<Rule>>> {
    let Some(list) = table_.list("match", report)? else { return Ok(None) };
    let span = list.span();
    match list.get_ref().len() {
        0 => {
            let what = "`match` without a rule takes nothing; leave it out of the class that takes all other frames";
            return Err(report.error(span, what));
        }
        n if n > MOST_RULES => return Err(report.error(span, format!("{n} rules; a class has {MOST_RULES} at most"))),
        _ => {}
    }
    let read = |value: &_| {
        let table = table(value, "match", "a rule of `match`".into(), report)?;
        let span = table.span();
        Ok(At::new(span, rule(table, report)?))
    };
    // All of them are read before the first wrong one ends it.
    let rules: Vec<Result<At<Rule>, Reported>> = list.into_inner().iter().map(read).collect();
    rules.into_iter().collect::<Result<_, _>>().map(Some)
}

/// The place of a class in the file, by its name.
pub(super) fn class_index(
    name: &str,
    span: Range<usize>,
    classes: &[Draft],
    report: &mut Report,
) -> Result<usize, Reported> {
    classes.iter().position(|class| class.named(name)).ok_or_else(|| {
        let known: Vec<&str> =
            classes.iter().filter_map(|class| Some(class.name.as_ref().ok()?.get_ref().as_str())).collect();
        report.error(span, format!("there is no class `{name}`{}", suggest::among(name, &known)))
    })
}
