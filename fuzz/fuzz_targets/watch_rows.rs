//! A file of rows of `ontick watch`: cut, damaged, or none at all.
#![no_main]

use ontick_watch::Row;
use ontick_watch::history::rows::{Rows, RowsError};
use ontick_watch::series::SeriesId;

/// With these first bytes a file is one of rows.
const HEAD: &[u8] = b"ontick-rows/1 40 bytes each, crc32 last\n";

/// Any bytes of a row's length, or the figures of a sound one.
type AnyRow = Result<[u8; 40], [u32; 7]>;

libfuzzer_sys::fuzz_target!(|input: (bool, Vec<AnyRow>, Vec<u8>)| {
    let (with_head, rows, rest) = input;
    let mut bytes = if with_head { HEAD.to_vec() } else { Vec::new() };
    let mut sound = 0;
    for row in &rows {
        match row {
            Ok(any) => bytes.extend(any),
            Err([at, code, samples, p50_ns, p99_ns, max_ns, steal_ms]) => {
                let (series, max_ns) = (SeriesId::of_code(*code as u16), u64::from(*max_ns));
                let row = Row {
                    at: *at,
                    series,
                    samples: *samples,
                    missed: 0,
                    p50_ns: *p50_ns,
                    p99_ns: *p99_ns,
                    max_ns,
                    steal_ms: *steal_ms,
                };
                bytes.extend(row.bytes());
                sound += u64::from(*at < u32::MAX);
            }
        }
    }
    bytes.extend(rest);
    let folder = ontick_fuzz::folder();
    let path = folder.join("rows");
    std::fs::write(&path, &bytes).unwrap();
    let mut rows = match Rows::open(&path) {
        Ok(rows) => rows,
        Err(RowsError::Foreign(_)) => return assert!(!with_head && !HEAD.starts_with(&bytes)),
        Err(error) => panic!("{error}"),
    };
    let mut found = 0;
    let damaged = rows.each(0, u32::MAX, |_| found += 1).unwrap();
    assert!(found + damaged <= rows.count() && (!with_head || found >= sound), "{found} of {sound}");
    // Whatever was there, what comes is kept.
    let row = Row { at: 7, series: SeriesId::Cpu(3), samples: 200, ..Row::default() };
    rows.append(&[row]).unwrap();
    let mut last = None;
    rows.each(0, u32::MAX, |row| last = Some(row)).unwrap();
    assert_eq!(last, Some(row));
    rows.retain(|row| row.at == 7).unwrap();
    rows.each(0, u32::MAX, |row| assert_eq!(row.at, 7)).unwrap();
});
