//! The JSON twin of the file: the same tables and keys. It is translated into TOML text, with each value's place kept,
//! so that there is one reader, and errors name the line of the JSON text.

use super::Network;
use super::read::{TABLES, finish, network};
use crate::config::problem::Report;
use crate::config::{Errors, Problem, other};

/// How deep lists and objects nest at most.
const DEEPEST: usize = 8;

pub(super) fn read(text: &str) -> Result<Network, Errors> {
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        return Err(alone(error.line(), error.column(), error.to_string()));
    }
    if let Some(other) = other::named(text) {
        let (line, column) = Report::new(text).place(text.len() - text.trim_start().len());
        return Err(alone(
            line,
            column,
            format!("this is {other}; the file that describes the network is wanted here"),
        ));
    }
    let mut translator = Translator { text, at: 0, toml: String::new(), places: Vec::new() };
    if let Err(what) = translator.document() {
        let (line, column) = Report::new(text).place(translator.at);
        return Err(alone(line, column, what.to_string()));
    }
    let Translator { toml, places, .. } = translator;
    let mut report = Report::translated(text, places);
    let network = network(&toml, &mut report);
    finish(network, report.errors)
}

fn alone(line: usize, column: usize, what: String) -> Errors {
    Errors { problems: vec![Problem { line, column, what }] }
}

/// JSON that is no network's.
#[derive(Debug, thiserror::Error)]
enum ShapeError {
    #[error("{0} is a list of objects, or an object")]
    Block(String),
    #[error("an object {{ }} is wanted here")]
    NoObject,
    #[error("nothing here is nested so deeply")]
    TooDeep,
    #[error("null means nothing here; leave the key out")]
    Null,
}

/// A walk through text that is JSON, for sure.
struct Translator<'a> {
    text: &'a str,
    at: usize,
    toml: String,
    /// What begins where in the TOML text, and where that stands in the JSON text.
    places: Vec<(usize, usize)>,
}

impl Translator<'_> {
    fn next(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or(b'}')
    }

    fn place(&mut self) {
        self.places.push((self.toml.len(), self.at));
    }

    /// `{ "stream": [ {…}, … ], "network": {…} }`. A key that no network has comes first, whatever its value: the reader
    /// says that it is unknown, and which ones there are.
    fn document(&mut self) -> Result<(), ShapeError> {
        let mut blocks = Vec::new();
        self.members(|translator, key| {
            match TABLES.contains(&key.trim_matches('"')) {
                true => blocks.push((key.to_owned(), translator.at)),
                false => {
                    translator.place();
                    translator.toml += &format!("{key} = true\n");
                }
            }
            translator.skip();
            Ok(())
        })?;
        for (key, at) in blocks {
            self.at = at;
            match self.next() {
                b'[' => self.items(|translator| translator.block(&format!("[[{key}]]\n")))?,
                b'{' => self.block(&format!("[{key}]\n"))?,
                _ => return Err(ShapeError::Block(key)),
            }
        }
        Ok(())
    }

    /// An object as a table of its own.
    fn block(&mut self, heading: &str) -> Result<(), ShapeError> {
        if self.next() != b'{' {
            return Err(ShapeError::NoObject);
        }
        self.place();
        self.toml += heading;
        self.members(|translator, key| {
            translator.place();
            translator.toml += &format!("{key} = ");
            translator.value(1)?;
            translator.toml.push('\n');
            Ok(())
        })
    }

    fn value(&mut self, depth: usize) -> Result<(), ShapeError> {
        if depth > DEEPEST {
            return Err(ShapeError::TooDeep);
        }
        let first = self.next();
        self.place();
        match first {
            b'[' => {
                self.toml.push('[');
                self.items(|translator| {
                    translator.value(depth + 1)?;
                    translator.toml.push(',');
                    Ok(())
                })?;
                self.toml.push(']');
            }
            b'{' => {
                self.toml.push('{');
                let mut first = true;
                self.members(|translator, key| {
                    translator.toml += &format!("{}{key} = ", if first { "" } else { ", " });
                    first = false;
                    translator.value(depth + 1)
                })?;
                self.toml.push('}');
            }
            b'n' => return Err(ShapeError::Null),
            _ => {
                let begin = self.at;
                self.skip();
                // Escapes of JSON are escapes of TOML, but for the one that nobody needs.
                self.toml += &self.text[begin..self.at].replace("\\/", "/");
            }
        }
        Ok(())
    }

    /// Each member of the object at hand; the keys with their quotes.
    fn members(&mut self, mut each: impl FnMut(&mut Self, &str) -> Result<(), ShapeError>) -> Result<(), ShapeError> {
        self.next();
        self.at += 1;
        loop {
            match self.next() {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let begin = self.at;
                    self.skip();
                    let key = &self.text[begin..self.at];
                    self.next();
                    self.at += 1;
                    self.next();
                    each(self, key)?;
                }
            }
        }
        self.at += 1;
        Ok(())
    }

    fn items(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), ShapeError>) -> Result<(), ShapeError> {
        self.at += 1;
        loop {
            match self.next() {
                b']' => break,
                b',' => self.at += 1,
                _ => each(self)?,
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Over one value.
    fn skip(&mut self) {
        let bytes = self.text.as_bytes();
        let mut depth = 0usize;
        loop {
            match self.next() {
                b'"' => {
                    self.at += 1;
                    while bytes[self.at] != b'"' {
                        self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
                    }
                    self.at += 1;
                }
                b'[' | b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                b']' | b'}' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                _ => {
                    while bytes.get(self.at).is_some_and(|byte| !b",:]} \t\r\n".contains(byte)) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    const NETWORK: &str = r#"{
  "switch": [{"name": "s1"}],
  "station": [{"name": "camera"}, {"name": "screen"}],
  "link": [
    {"between": ["camera", "s1"], "ports": ["eth0", "p1"]},
    {"between": ["s1", "screen"]}
  ],
  "stream": [
    {"name": "video", "from": "camera", "to": ["screen"], "size": 1400,
     "period": "1ms"}
  ]
}"#;

    #[test]
    fn json_says_what_toml_says() {
        let network = super::super::read(NETWORK).unwrap();
        assert_eq!(network.streams[0].deadline_ns, 1_000_000);
        assert_eq!(network.links[1].port.as_deref(), Some("p1"));
    }

    #[test]
    fn errors_name_the_place_in_the_json_text() {
        let said = |from: &str, to: &str| super::super::read(&NETWORK.replace(from, to)).unwrap_err().in_file("n.json");
        let period = said("\"1ms\"", "\"0ms\"");
        assert!(period.starts_with("n.json:10:16: `period`: \"0ms\" is less than 1ns"), "{period}");
        let node = said("[\"screen\"]", "[\"scren\"]");
        assert!(node.starts_with("n.json:9:48: there is no node \"scren\"; did you mean `screen`?"), "{node}");
        let syntax = said("\"size\": 1400,", "\"size\": 1400");
        assert!(syntax.starts_with("n.json:10:"), "{syntax}");
        let null = said("1400", "null");
        assert!(null.starts_with("n.json:9:67: null"), "{null}");
        assert!(said("\"size\"", "\"seize\"").contains("unknown key `seize`"));
    }

    #[test]
    fn a_key_that_no_network_has_is_unknown_whatever_its_value() {
        let known = "unknown key `foo` in the file (known: network, switch, station, time, link, stream)";
        for value in ["3", "null", "[1, 2]", "[{\"a\": 1}]", "{\"a\": null}"] {
            let text = NETWORK.replacen('{', &format!("{{ \"foo\": {value},"), 1);
            assert_eq!(super::super::read(&text).unwrap_err().in_file("n.json"), format!("n.json:1:10: {known}"));
        }
        assert!(known.contains(&super::TABLES.join(", ")));
        let link = super::super::read(r#"{"link": 3}"#).unwrap_err().in_file("n.json");
        assert_eq!(link, "n.json:1:10: \"link\" is a list of objects, or an object");
    }

    #[test]
    fn a_plan_or_a_record_in_a_network_s_place_is_said_to_be_one() {
        let said = |text: &str| super::super::read(text).unwrap_err().in_file("f.json");
        let plan = said("{\n  \"ontick_plan\": 1,\n  \"streams\": []\n}\n");
        assert_eq!(plan, "f.json:1:1: this is a plan of a network; the file that describes the network is wanted here");
        assert!(said(r#"{"schema": "ontick-run/1"}"#).contains("this is a record (ontick-run/1); "));
    }
}
