//! What `lldpcli -f json0` prints: lists always, also of one.
//!
//! Neighbours choose most of what is in it, and any machine on a cable can be one.

use ontick_record::network_check::Identifier;
use serde::Deserialize;

/// Characters of a text of a neighbour's: LLDP has 255 octets in each (IEEE 802.1AB-2016 clause 8.5).
const LONGEST: usize = 255;
/// The only protocol that is looked at, of those that lldpd speaks.
const LLDP: &str = "LLDP";

/// A neighbour, and where it is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The interface of this machine.
    pub at: String,
    /// What the neighbour calls itself.
    pub system_name: Option<String>,
    /// Its chassis.
    pub chassis: Option<Identifier>,
    /// Its port.
    pub port: Option<Identifier>,
    /// What it says of its port.
    pub port_description: Option<String>,
    /// For how long it has been heard as it is, in s.
    pub age_s: Option<u64>,
}

/// Where lldpd listens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listening {
    /// Interfaces.
    pub at: Vec<String>,
    /// What lldpd calls this machine towards its neighbours.
    pub system_name: Option<String>,
}

/// An answer that is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nothing was printed.
    #[error("lldpcli prints nothing")]
    Empty,
    /// It is no JSON, or JSON of another shape.
    #[error("lldpcli's answer is not what `lldpcli -f json0` of lldpd 0.9.8 and later prints: {0}")]
    Shape(#[from] serde_json::Error),
}

#[derive(Deserialize)]
struct Document {
    lldp: Vec<Interfaces>,
}

#[derive(Deserialize)]
struct Interfaces {
    #[serde(default)]
    interface: Vec<Interface>,
}

#[derive(Deserialize)]
struct Interface {
    name: String,
    via: Option<String>,
    age: Option<String>,
    #[serde(default)]
    chassis: Vec<Chassis>,
    #[serde(default)]
    port: Vec<Port>,
}

#[derive(Default, Deserialize)]
struct Chassis {
    #[serde(default)]
    id: Vec<Id>,
    #[serde(default)]
    name: Vec<Text>,
}

#[derive(Default, Deserialize)]
struct Port {
    #[serde(default)]
    id: Vec<Id>,
    #[serde(default)]
    descr: Vec<Text>,
}

#[derive(Deserialize)]
struct Id {
    #[serde(rename = "type", default)]
    subtype: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct Text {
    #[serde(default)]
    value: String,
}

/// Reads the answer to `show neighbors`. What is no UTF-8 becomes U+FFFD, so that one neighbour's name hides no other's.
pub fn neighbours(answer: &[u8]) -> Result<Vec<Heard>, AnswerError> {
    let by_lldp = |interface: &Interface| interface.via.as_deref().is_none_or(|via| via == LLDP);
    let interfaces = interfaces(answer)?.into_iter().filter(by_lldp);
    let heard = interfaces.map(|interface| {
        let (chassis, port) = (first(interface.chassis).unwrap_or_default(), first(interface.port).unwrap_or_default());
        Heard {
            at: short(&interface.name),
            system_name: text(chassis.name),
            chassis: identifier(chassis.id),
            port: identifier(port.id),
            port_description: text(port.descr),
            age_s: interface.age.as_deref().and_then(seconds),
        }
    });
    Ok(heard.collect())
}

/// Reads the answer to `show interfaces`.
pub fn listening(answer: &[u8]) -> Result<Listening, AnswerError> {
    let mut listening = Listening::default();
    for interface in interfaces(answer)? {
        listening.at.push(short(&interface.name));
        let name = first(interface.chassis).and_then(|chassis| text(chassis.name));
        listening.system_name = listening.system_name.or(name);
    }
    Ok(listening)
}

fn interfaces(answer: &[u8]) -> Result<Vec<Interface>, AnswerError> {
    let text = String::from_utf8_lossy(answer);
    if text.trim().is_empty() {
        return Err(AnswerError::Empty);
    }
    let document: Document = serde_json::from_str(&text)?;
    Ok(document.lldp.into_iter().flat_map(|of| of.interface).collect())
}

fn first<T>(list: Vec<T>) -> Option<T> {
    list.into_iter().next()
}

fn text(list: Vec<Text>) -> Option<String> {
    first(list).map(|text| short(&text.value)).filter(|text| !text.is_empty())
}

fn identifier(list: Vec<Id>) -> Option<Identifier> {
    first(list).map(|id| Identifier { subtype: short(&id.subtype), value: short(&id.value) })
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// Of an age: `0 day, 00:01:18`, `2 days, 03:00:00`.
fn seconds(age: &str) -> Option<u64> {
    let (days, clock) = age.split_once(", ")?;
    let days: u64 = days.split(' ').next()?.parse().ok()?;
    let parts: Vec<u64> = clock.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    let units = [(days, 86_400), (hours, 3_600), (minutes, 60), (seconds, 1)];
    units.into_iter().try_fold(0u64, |sum, (count, each)| sum.checked_add(count.checked_mul(each)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// lldpd 1.0.16, `show neighbors details hidden`, cut.
    const NEIGHBOURS: &str = r#"{ "lldp": [ { "interface": [
        { "name": "p1", "via": "LLDP", "rid": "1", "age": "1 day, 00:01:18",
          "chassis": [ { "id": [ { "type": "mac", "value": "0a:a3:85:1e:b9:7c" } ],
            "name": [ { "value": "camera.plant.example" } ], "capability": [ { "type": "Bridge", "enabled": false } ] } ],
          "port": [ { "id": [ { "type": "ifname", "value": "eth0" } ], "descr": [ { "value": "to s1" } ],
            "ttl": [ { "value": "120" } ] } ] },
        { "name": "p1", "via": "CDPv2", "age": "0 day, 00:00:01" },
        { "name": "p2" } ] } ] }"#;

    #[test]
    fn neighbours_are_those_of_lldp() {
        let heard = neighbours(NEIGHBOURS.as_bytes()).unwrap();
        let identifier = |subtype: &str, value: &str| Some(Identifier { subtype: subtype.into(), value: value.into() });
        let camera = Heard {
            at: "p1".into(),
            system_name: Some("camera.plant.example".into()),
            chassis: identifier("mac", "0a:a3:85:1e:b9:7c"),
            port: identifier("ifname", "eth0"),
            port_description: Some("to s1".into()),
            age_s: Some(86_400 + 78),
        };
        let silent = Heard {
            at: "p2".into(),
            system_name: None,
            chassis: None,
            port: None,
            port_description: None,
            age_s: None,
        };
        assert_eq!(heard, [camera, silent]);
        assert!(neighbours(b"{\n  \"lldp\": [\n    {\n      \n    }\n  ]\n}\n").unwrap().is_empty());
    }

    #[test]
    fn where_lldpd_listens_it_says_what_it_calls_this_machine() {
        let answer = br#"{ "lldp": [ { "interface": [ { "name": "p1", "status": [ { "value": "RX and TX" } ],
            "chassis": [ { "name": [ { "value": "s1.plant.example" } ] } ], "ttl": [ { "ttl": "4" } ] },
            { "name": "p2" } ] } ] }"#;
        let expected = Listening { at: vec!["p1".into(), "p2".into()], system_name: Some("s1.plant.example".into()) };
        assert_eq!(listening(answer).unwrap(), expected);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        assert!(matches!(neighbours(b" \n"), Err(AnswerError::Empty)));
        let bad: [&[u8]; 6] = [
            b"LLDP neighbors:",
            b"{}",
            b"[]",
            br#"{"lldp": {"interface": {"p1": {"via": "LLDP"}}}}"#,
            br#"{"lldp": [{"interface": [{"via": "LLDP"}]}]}"#,
            br#"{"lldp": [{"interface": [{"name": "p1", "chassis": "x"}]}]}"#,
        ];
        for answer in bad {
            let error = neighbours(answer).unwrap_err();
            assert!(matches!(error, AnswerError::Shape(_)), "{error}");
            assert!(error.to_string().contains("lldpcli -f json0"), "{error}");
        }
    }

    #[test]
    fn a_name_that_is_no_text_hides_no_other() {
        let answer =
            [br#"{"lldp":[{"interface":[{"name":"p1","chassis":[{"name":[{"value":""#, &b"\xff\xfe"[..]].concat();
        let answer = [&answer[..], br#""}]}]},{"name":"p2"}]}]}"#].concat();
        let heard = neighbours(&answer).unwrap();
        assert_eq!((heard.len(), heard[0].system_name.as_deref()), (2, Some("\u{fffd}\u{fffd}")));
        let long = NEIGHBOURS.replace("camera.plant", &"ä".repeat(1_000));
        assert_eq!(neighbours(long.as_bytes()).unwrap()[0].system_name.as_ref().unwrap().chars().count(), LONGEST);
    }

    #[test]
    fn ages_are_seconds() {
        for (age, is) in [
            ("0 day, 00:00:18", Some(18)),
            ("2 days, 03:04:05", Some(183_845)),
            ("18446744073709551615 days, 00:00:00", None),
            ("0 day, 00:18", None),
            ("", None),
        ] {
            assert_eq!(seconds(age), is, "{age}");
        }
    }
}
