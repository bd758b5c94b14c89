//! Guard bands, which a document has as entries in which gates are closed.

use super::*;

/// A switch with these gates and a guard band of 1 us at its second port.
fn guarded(entries: &[(u16, u64)]) -> Switch {
    let mut switch = new_switch("br0", &mut import(&document().to_string()).unwrap());
    let entries: Vec<Entry> = entries.iter().map(|(open, for_ns)| Entry { open: *open, for_ns: *for_ns }).collect();
    let cycle_ns = entries.iter().map(|entry| entry.for_ns).sum();
    switch.ports[1].gates = Some(Gates { base: Base::NextSecond, cycle_ns, guard: Guard::Fixed(1_000), entries });
    switch
}

#[test]
fn entries_that_become_too_long_for_one_are_several() {
    let switch = guarded(&[(1, 4_000_000_000), (1, 4_000_000_000), (2, 1_000_000_000)]);
    let exported = export(&switch).unwrap();
    let imported = import(&exported.document.to_string()).unwrap();
    let entries = &imported.interfaces[1].gates.as_ref().unwrap().entries;
    let times: Vec<(u16, u64)> = entries.iter().map(|entry| (entry.open, entry.for_ns)).collect();
    let rest_ns = 7_999_999_000 - u64::from(u32::MAX);
    assert_eq!(times, [(1, u32::MAX.into()), (1, rest_ns), (0, 1_000), (2, 999_999_000), (0, 1_000)]);
}

#[test]
fn more_entries_than_a_list_has_are_refused_in_words() {
    let entries = |count: usize| (0..count).map(|n| (1 << (n % 2), 100_000)).collect::<Vec<(u16, u64)>>();
    assert!(import(&export(&guarded(&entries(512))).unwrap().document.to_string()).is_ok());
    let error = export(&guarded(&entries(514))).unwrap_err().to_string();
    assert_eq!(error, "port swp1: its gates and their guard bands are 1028 entries; 1024 can be");
}
