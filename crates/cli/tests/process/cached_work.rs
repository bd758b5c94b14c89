//! Work after each wait, with its code and data as the machine leaves them, or made ready before.

use crate::errors::fails;
use crate::{record, run};

const STOCK: [&str; 6] = ["--policy", "other", "--stock", "--phase", "chance", "--json"];
const WORK: [&str; 8] = ["latency", "timer", "--method", "clock_nanosleep", "--count", "30", "--working-set", "16"];

#[test]
fn ways_to_have_the_work_in_the_cache_are_measured_in_turn() {
    let ways = ["--cache", "untouched,prefetch,prefetch+huge"];
    let record = record(&run(&[&WORK[..], &STOCK, &["--cpu", "any"], &ways].concat()));
    let series = record["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|s| s["name"].as_str().unwrap()).collect();
    let method = "clock_nanosleep";
    assert_eq!(names, ["untouched", "prefetch", "prefetch+huge"].map(|way| format!("{method}, {way}")));
    for one in series {
        assert_eq!(
            (&one["settings"]["work_bytes"], &one["latency"]["buckets"][0][2].is_u64()),
            (&16_384.into(), &true)
        );
    }
    assert_eq!(series[0]["settings"]["pages"], "usual");
    // Where the system has no huge pages, that is said.
    let pages = series[2]["settings"]["pages"].as_str().unwrap();
    assert!(pages.starts_with("huge, ") || record.to_string().contains("huge pages: the kernel gave none"), "{record}");
}

#[test]
fn a_cache_that_cannot_be_reserved_and_unknown_ways_are_refused() {
    fails(&["latency", "timer", "--cache", "warm"], &["none of untouched, prefetch, huge, reserved"]);
    fails(&["latency", "timer", "--cache", "huge", "--waits", "2"], &["--cache", "--waits"]);
    fails(&["latency", "timer", "--working-set", "16"], &["--cache"]);
    let any = ["--cpu", "any", "--count", "5"];
    fails(&[&["latency", "timer", "--cache", "reserved"][..], &STOCK[..5], &any].concat(), &["for a CPU", "name one"]);
    if !std::path::Path::new("/sys/fs/resctrl/schemata").exists() {
        let one = ["latency", "timer", "--cache", "reserved", "--cpu", "0", "--count", "5"];
        fails(&[&one[..], &STOCK[..5]].concat(), &["/sys/fs/resctrl is not there", "mount -t resctrl"]);
    }
}
