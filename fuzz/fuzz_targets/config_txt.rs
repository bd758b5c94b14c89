//! The Raspberry Pi's `config.txt`, with files that it includes.
#![no_main]

use ontick_machine::config_txt::{ConfigTxt, with};

libfuzzer_sys::fuzz_target!(|input: (&str, &str)| {
    let (text, other) = input;
    let beside = |name: &str| (name == "other.txt").then(|| other.to_owned());
    let read = |text: &str| ConfigTxt::parse_with(text, "Raspberry Pi 4 Model B Rev 1.4", 4, &beside);
    let new = with(text, &[("force_turbo".into(), "1".into())], "why");
    assert!(new.starts_with(text));
    // An included file may end in the middle of anything, and its filter holds on.
    if !text.lines().any(|line| line.trim().starts_with("include")) {
        assert_eq!(read(&new).get("force_turbo"), Some("1"));
    }
    read(text).has("dtoverlay", "dwc2");
});
