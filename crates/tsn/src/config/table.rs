//! A TOML table as it is read: each key is asked for once, and what is left over at the end is unknown.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::problem::{Report, Reported};
use super::suggest;
use super::terms::Terms;
use super::value_error::ValueError;

/// A value and its place.
pub(crate) type At<T> = Spanned<T>;

/// A key's value, nothing where the key is absent, or the proof that it was wrong.
pub(crate) type Read<T> = Result<Option<T>, Reported>;

/// One table of the file.
pub(crate) struct Table<'a> {
    table: &'a DeTable<'a>,
    span: Range<usize>,
    /// As errors call it: `[switch]`.
    name: String,
    asked: Vec<&'static str>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(table: &'a DeTable<'a>, span: Range<usize>, name: impl Into<String>) -> Self {
        Self { table, span, name: name.into(), asked: Vec::new() }
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// Whether a key is there, without reading it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(crate) fn text(&mut self, key: &'static str, report: &mut Report) -> Read<At<&'a str>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        text(value, key, report).map(Some)
    }

    /// A text that `parse` makes a value of.
    pub(crate) fn parsed<T>(
        &mut self,
        key: &'static str,
        report: &mut Report,
        parse: impl FnOnce(&str) -> Result<T, ValueError>,
    ) -> Read<At<T>> {
        let Some(text) = self.text(key, report)? else { return Ok(None) };
        match parse(text.get_ref()) {
            Ok(value) => Ok(Some(At::new(text.span(), value))),
            Err(what) => {
                let what = match report.terms() {
                    Terms::File => format!("`{key}`: {what}"),
                    Terms::Yang => what.to_string(),
                };
                Err(report.error(text.span(), what))
            }
        }
    }

    /// A text out of a list.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        report: &mut Report,
    ) -> Read<At<T>> {
        self.parsed(key, report, |text| choice(text, choices))
    }

    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
        report: &mut Report,
    ) -> Read<At<u64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        whole(value, key, range, report).map(Some)
    }

    pub(crate) fn flag(&mut self, key: &'static str, report: &mut Report) -> Read<bool> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(*flag)),
            other => Err(report.error(value.span(), format!("`{key}` is true or false, not {}", kind(other)))),
        }
    }

    pub(crate) fn list(&mut self, key: &'static str, report: &mut Report) -> Read<At<&'a [Spanned<DeValue<'a>>]>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Array(list) => Ok(Some(At::new(value.span(), list))),
            other => Err(report.error(value.span(), format!("`{key}` is a list in [ ], not {}", kind(other)))),
        }
    }

    pub(crate) fn table(&mut self, key: &'static str, name: String, report: &mut Report) -> Read<Table<'a>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        table(value, key, name, report).map(Some)
    }

    /// The tables of `[[key]]`.
    pub(crate) fn tables(&mut self, key: &'static str, report: &mut Report) -> Read<Vec<Result<Table<'a>, Reported>>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Array(list) => {
                let name = format!("[[{key}]]");
                Ok(Some(list.iter().map(|value| table(value, key, name.clone(), report)).collect()))
            }
            DeValue::Table(_) => {
                Err(report.error(value.span(), format!("there can be several of these: write [[{key}]], not [{key}]")))
            }
            other => {
                Err(report.error(value.span(), format!("write [[{key}]] tables; `{key}` is {} here", kind(other))))
            }
        }
    }

    /// Keys and values in the order of the file, where the keys are names.
    pub(crate) fn entries(&self) -> Vec<(&'a Spanned<toml::de::DeString<'a>>, &'a Spanned<DeValue<'a>>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    /// That a key must be there.
    pub(crate) fn require<T>(
        &self,
        key: &str,
        example: &str,
        value: Read<T>,
        report: &mut Report,
    ) -> Result<T, Reported> {
        value?.ok_or_else(|| report.error(self.span(), format!("{} lacks `{key}` ({example})", self.name)))
    }

    /// Keys that nobody asked for are unknown.
    pub(crate) fn finish(self, report: &mut Report) {
        for (key, _) in self.entries() {
            if !self.asked.contains(&key.get_ref().as_ref()) {
                let hint = suggest::among(key.get_ref(), &self.asked);
                report.error(key.span(), format!("unknown key `{}` in {}{hint}", key.get_ref(), self.name));
            }
        }
    }
}

/// A file's text as a tree. Where it is no TOML that alone is reported: what follows from it would only confuse. Of a text
/// whose first line is none already, as of a CSV file, so would all but the first error.
pub(crate) fn parse<'a>(text: &'a str, report: &mut Report) -> Result<Spanned<DeTable<'a>>, Reported> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut errors: Vec<_> = errors.iter().map(|error| (error.span().unwrap_or_default(), error.message())).collect();
    errors.sort_by_key(|(span, _)| span.start);
    let end = first_line_end(text);
    if errors.first().is_some_and(|(span, _)| span.start <= end) {
        errors.truncate(1);
    }
    let reported = errors.into_iter().map(|(span, message)| report.error(span, message));
    reported.last().map_or(Ok(document), Err)
}

/// The end of the first line that is neither blank nor a comment.
fn first_line_end(text: &str) -> usize {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if !line.trim_start().is_empty() && !line.trim_start().starts_with('#') {
            return end - usize::from(line.ends_with('\n'));
        }
    }
    end
}

/// A value that must be a table.
pub(crate) fn table<'a>(
    value: &'a Spanned<DeValue<'a>>,
    key: &str,
    name: String,
    report: &mut Report,
) -> Result<Table<'a>, Reported> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(Table::new(table, value.span(), name)),
        other => Err(report.error(value.span(), format!("`{key}` is a table, not {}", kind(other)))),
    }
}

/// A value that must be a text.
pub(crate) fn text<'a>(
    value: &'a Spanned<DeValue<'a>>,
    key: &str,
    report: &mut Report,
) -> Result<At<&'a str>, Reported> {
    match value.get_ref() {
        DeValue::String(text) => Ok(At::new(value.span(), text.as_ref())),
        other => Err(report.error(value.span(), format!("`{key}` is a text in quotes, not {}", kind(other)))),
    }
}

/// A value that must be a whole number within a range.
pub(crate) fn whole(
    value: &Spanned<DeValue<'_>>,
    key: &str,
    range: RangeInclusive<u64>,
    report: &mut Report,
) -> Result<At<u64>, Reported> {
    let DeValue::Integer(number) = value.get_ref() else {
        let what = format!("`{key}` is a whole number, not {}", kind(value.get_ref()));
        return Err(report.error(value.span(), what));
    };
    match integer(number).filter(|number| range.contains(number)) {
        Some(number) => Ok(At::new(value.span(), number)),
        None => {
            let subject = report.terms().subject(key);
            let what = format!("{subject}is from {} to {}, not {number}", range.start(), range.end());
            Err(report.error(value.span(), what))
        }
    }
}

/// A number that is not negative.
pub(crate) fn integer(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// One of several words.
pub(crate) fn choice<T: Copy>(text: &str, choices: &[(&'static str, T)]) -> Result<T, ValueError> {
    let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>();
    let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    chosen.ok_or_else(|| ValueError::none_of(text, &words()))
}

/// What a value is, in words.
pub(crate) fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text \"{text}\""),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}
