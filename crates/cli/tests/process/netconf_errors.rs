//! Where and what is wrong, as NETCONF says it (RFC 6241 section 4.3).

mod gates;
mod several_paths;
mod slopes;
mod streams;

use serde_json::Value;

use super::netconf::{Talk, rpc};
use super::{run, stdout};

const INTERFACES: &str = "urn:ietf:params:xml:ns:yang:ietf-interfaces";
const BRIDGE: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge";
const STREAMS: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification";

/// The component that has the switch's stream filters, gates and meters.
const COMPONENT: &str = "/ieee802-dot1q-bridge:bridges/ieee802-dot1q-bridge:bridge[ieee802-dot1q-bridge:name='cell']\
                         /ieee802-dot1q-bridge:component[ieee802-dot1q-bridge:name='cell']";
const IDENTITY: &str = "/ieee802-dot1cb-stream-identification:stream-identity\
                        [ieee802-dot1cb-stream-identification:index='1']";

/// The texts of an error's elements: tag, path, message and information.
struct Refusal {
    reply: String,
}

impl Refusal {
    fn part(&self, name: &str) -> &str {
        let (_, rest) = self.reply.split_once(&format!("<{name}")).unwrap_or_else(|| panic!("{name}: {}", self.reply));
        rest.split_once('>').unwrap().1.split_once(&format!("</{name}>")).unwrap().0
    }

    /// Holds it against a tag, a path below a place, and a sentence.
    #[track_caller]
    fn is(&self, tag: &str, path: &str, message: &str) {
        let found = ["error-tag", "error-path", "error-message"].map(|name| {
            [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">")]
                .iter()
                .fold(self.part(name).to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
        });
        assert_eq!(found.each_ref().map(String::as_str), [tag, path, message]);
    }
}

/// What an edit of the candidate is answered.
fn refused(talk: &mut Talk, config: &str) -> Refusal {
    let edit = format!("<edit-config><target><candidate/></target><config>{config}</config></edit-config>");
    talk.say(&(rpc(&edit) + "]]>]]>"));
    let refusal = Refusal { reply: talk.hear() };
    let mut found = words_of_file(refusal.part("error-message"));
    // Some elements of YANG are called as keys of the file are.
    found.retain(|key| !["<key>", "<key/>"].iter().any(|tag| config.contains(&tag.replace("key", key))));
    assert!(found.is_empty(), "{found:?}: {}", refusal.reply);
    refusal
}

/// Keys of the switch's file that a sentence has: quoted, with a value, or such as no other sentence would have.
fn words_of_file(sentence: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(&stdout(&run(&["schema", "switch"]))).unwrap();
    let mut keys = Vec::new();
    add_keys(&schema, &mut keys);
    keys.sort_unstable();
    keys.dedup();
    assert!(
        ["max-sdu", "burst", "offload", "plane"].iter().all(|key| keys.iter().any(|other| other == key)),
        "{keys:?}"
    );
    let words: Vec<&str> = sentence.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    keys.retain(|key| {
        sentence.contains(&format!("`{key}`"))
            || sentence.contains(&format!("{key} = "))
            || sentence.contains(&format!("[{key}"))
            || key.contains('-') && words.contains(&key.as_str())
    });
    keys
}

fn add_keys(schema: &Value, keys: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        keys.extend(properties.keys().cloned());
    }
    let below: Vec<&Value> = match schema {
        Value::Array(values) => values.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    below.into_iter().for_each(|value| add_keys(value, keys));
}

#[test]
fn words_of_the_file_are_found_in_a_sentence() {
    for (sentence, found) in [
        ("or write max-sdu = { red = 83 }", &["max-sdu"][..]),
        ("lower max-sdu, or lengthen the entry", &["max-sdu"]),
        ("`burst` is 3", &["burst"]),
        ("leave [[stream]] out", &["stream"]),
        ("a cycle of 5us; queue-max-sdu is 300, max-sdu-size 400", &[]),
    ] {
        assert_eq!(words_of_file(sentence), found, "{sentence}");
    }
}
