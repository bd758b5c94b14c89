//! The page of settings has each knob once, with the profiles that it belongs to.

use std::collections::BTreeMap;
use std::path::Path;

use ontick_machine::{Profile, knobs};

/// The rows of the tables of settings: each name with its profiles as they stand there.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let tables = page.split("| setting |").skip(1).map(|rest| rest.split("\n\n").next().unwrap_or_default());
    tables
        .flat_map(|table| table.lines().skip(2))
        .flat_map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let names = cells[0].split(", ").map(|name| name.trim_matches('`'));
            names.map(|name| (name, *cells.last().unwrap())).collect::<Vec<_>>()
        })
        .collect()
}

fn written(profiles: &[Profile]) -> String {
    match profiles.len() {
        0 => "by name".into(),
        all if all == Profile::ALL.len() => "all".into(),
        _ => profiles.iter().map(|profile| format!("`{}`", profile.name())).collect::<Vec<_>>().join(", "),
    }
}

#[test]
fn every_setting_is_on_its_page_with_its_profiles() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows = rows(&page);
    let on_page: BTreeMap<&str, String> = rows.iter().map(|(name, profiles)| (*name, (*profiles).to_owned())).collect();
    let known: BTreeMap<&str, String> = knobs::all().map(|knob| (knob.name, written(knob.profiles))).collect();
    assert_eq!(on_page, known);
    assert_eq!(rows.len(), known.len(), "each stands there once");
}
