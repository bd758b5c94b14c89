//! What the cores of a switch learn for each other.

use loom::thread;

use crate::sources::switch::table::Table;

/// Stations, by their last octet.
fn station(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, n]
}

pub fn learned() {
    // One set of places, and whoever was seen before now makes room.
    let table = Table::new(1, 0, 3);
    let _ = table.learn(&station(1), 0, 0);
    let learns = |n: u8| {
        let table = table.clone();
        thread::spawn(move || _ = table.learn(&station(n), u16::from(n), 10))
    };
    let cores = [learns(2), learns(3)];
    let known = |n: u8, port: u16, now_ns: u64| {
        let seen = table.port(&station(n), now_ns);
        assert!(seen.is_none_or(|seen| seen == port), "station {n}: {seen:?}");
        seen.is_some()
    };
    known(1, 0, 0);
    known(2, 2, 10);
    cores.into_iter().for_each(|core| core.join().unwrap());
    // Of two that take one place, one is there.
    assert!(known(2, 2, 10) | known(3, 3, 10));
    known(1, 0, 10);
}
