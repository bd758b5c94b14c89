//! Kernel arguments: `/proc/cmdline` and the boot files that it comes from.

use serde::Serialize;

/// A kernel command line, split as the kernel splits it (quotes keep white space together).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Arguments(Vec<String>);

impl Arguments {
    /// Splits a command line. What follows `--` is for init and not kept.
    pub fn parse(line: &str) -> Self {
        Self(words(line).into_iter().map(|w| w.text.to_owned()).take_while(|w| w != "--").collect())
    }

    /// Each argument as written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The value of the last `key=value` (or `""` for a bare `key`). The kernel takes `-` and `_` as one.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.all(key).last()
    }

    /// Every value given for a key, in order.
    pub fn all<'a, 'k>(&'a self, key: &'k str) -> impl Iterator<Item = &'a str> + use<'a, 'k> {
        self.iter().filter(move |arg| same_key(key_of(arg), key)).map(|arg| match arg.split_once('=') {
            Some((_, value)) => value.trim_matches('"'),
            None => "",
        })
    }
}

/// The part of an argument before `=`.
pub(crate) fn key_of(argument: &str) -> &str {
    argument.split('=').next().unwrap_or(argument).trim_start_matches('"')
}

/// Whether two keys name one parameter.
pub(crate) fn same_key(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| a == b || matches!((a, b), (b'-', b'_') | (b'_', b'-')))
}

/// An argument and its place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub start: usize,
    pub text: &'a str,
}

impl Word<'_> {
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The arguments of a line, `--` and what follows included.
pub(crate) fn words(line: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let (mut start, mut quoted) = (None, false);
    for (i, c) in line.char_indices() {
        if c == '"' {
            quoted = !quoted;
        }
        match (start, c.is_ascii_whitespace() && !quoted) {
            (None, false) => start = Some(i),
            (Some(begun), true) => {
                found.push(Word { start: begun, text: &line[begun..i] });
                start = None;
            }
            _ => {}
        }
    }
    if let Some(begun) = start {
        found.push(Word { start: begun, text: &line[begun..] });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_as_the_kernel_does() {
        let line = "quiet isolcpus=2 dyndbg=\"file a.c +p\" rcu-nocbs=3 isolcpus=managed_irq,domain,3 -- isolcpus=1\n";
        let arguments = Arguments::parse(line);
        assert_eq!(arguments.get("isolcpus"), Some("managed_irq,domain,3"));
        assert_eq!(arguments.get("rcu_nocbs"), Some("3"));
        assert_eq!(arguments.get("dyndbg"), Some("file a.c +p"));
        assert_eq!((arguments.get("quiet"), arguments.get("quie")), (Some(""), None));
        assert_eq!(arguments.all("isolcpus").count(), 2);
    }

    proptest! {
        #[test]
        fn words_stand_where_they_say(line in "[a-z= \"\t-]{0,60}|.{0,40}") {
            let mut end = 0;
            for word in words(&line) {
                prop_assert!(word.start >= end && &line[word.start..word.end()] == word.text && !word.text.is_empty());
                prop_assert!(line[end..word.start].chars().all(|c| c.is_ascii_whitespace()));
                end = word.end();
            }
        }
    }
}
