//! A text of JSON in which no object has a member twice. Of two, one program takes the first and another the last (RFC 8259
//! section 4), and what the other says would be lost without a word.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads a text.
pub(super) fn read(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Single(value)| value)
}

struct Single(Value);

impl<'de> Deserialize<'de> for Single {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Single(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Single(value))) = members.next_entry::<String, Single>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("`{key}` is there twice")));
            }
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_serde_json_reads_it() {
        let text = r#"{ "a": [1, -2, 1.5, 1e300, "x\ny", null, true, {}, []], "b": { "a": 18446744073709551615 } }"#;
        assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert!(read(&"[".repeat(200)).is_err() && read("{} {}").is_err());
    }

    #[test]
    fn a_member_that_stands_twice_is_named_with_its_line() {
        let error = read("{ \"a\": 1,\n\"b\": {},\n\"a\": 2 }").unwrap_err();
        assert_eq!((error.line(), error.to_string().starts_with("`a` is there twice at line 3")), (3, true), "{error}");
    }
}
