//! Every fuzz target begins with something that its parser understands, is run by `fuzz/run.sh`, and is in the docs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ontick_link::frame::Shape;
use ontick_link::wave::Wave;
use ontick_link::{Code, Frame, Kind};
use ontick_measure::inspect::symbols::elf::Functions;
use ontick_network::roundtrip::{Message as RoundTrip, Request, Residence};
use ontick_pico::{EdgeWriter, LONGEST, Lost, Message, frame};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>());
    let stem = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    entries.unwrap_or_default().iter().map(stem).collect()
}

/// What other tools write: their seeds are the fixtures of the importers' tests.
const IMPORTERS: [&str; 15] = [
    "capture_csv",
    "capture_edges",
    "capture_sr",
    "capture_vcd",
    "cyclictest",
    "hlog",
    "hwlatdetect",
    "import",
    "isochron",
    "jitterdebugger",
    "oslat",
    "rtla",
    "rtla_osnoise",
    "rtla_top",
    "zyclictest",
];

#[test]
fn every_target_has_seeds_is_run_and_is_in_the_docs() {
    let targets = names(&fuzz().join("fuzz_targets"));
    assert!(targets.len() > 40, "{targets:?}");
    let script = fs::read_to_string(fuzz().join("run.sh")).unwrap();
    let list = script.split("all='").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let run: BTreeSet<&str> = list.split_whitespace().collect();
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let docs = fs::read_to_string(fuzz().join("../docs/fuzzing.md")).unwrap();
    for target in &targets {
        let own = names(&fuzz().join("seeds").join(target));
        assert!(!own.is_empty() || IMPORTERS.contains(&target.as_str()), "no seed in fuzz/seeds/{target}");
        assert!(run.contains(target.as_str()), "fuzz/run.sh does not run {target}");
        assert!(manifest.contains(&format!("name = \"{target}\"")), "fuzz/Cargo.toml does not build {target}");
        assert!(docs.contains(&format!("`{target}`")), "docs/fuzzing.md lacks {target}");
    }
    let known: BTreeSet<&str> = targets.iter().map(String::as_str).collect();
    assert_eq!(run.difference(&known).collect::<Vec<_>>(), [&""; 0], "fuzz/run.sh runs what is not there");
    for folder in names(&fuzz().join("seeds")) {
        assert!(known.contains(folder.as_str()), "fuzz/seeds/{folder} is of no target");
    }
}

/// What is kept of a target's inputs is in the table, and the docs show it. fuzz/run.sh writes both.
#[test]
fn the_table_counts_what_is_kept_and_is_in_the_docs() {
    let table = fs::read_to_string(fuzz().join("campaign.tsv")).unwrap();
    let docs = fs::read_to_string(fuzz().join("../docs/fuzzing.md")).unwrap();
    let targets: BTreeSet<String> = names(&fuzz().join("fuzz_targets")).into_iter().collect();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split('\t').collect()).collect();
    let counted: BTreeSet<String> = rows.iter().map(|row| row[0].to_owned()).collect();
    assert!(counted.len() == rows.len() && counted.is_subset(&targets), "a target has one row: {table}");
    let mut all = 0;
    for row in &rows {
        let [target, inputs, edges, files, day] = row[..] else { panic!("five columns: {row:?}") };
        assert!(inputs.parse::<u64>().unwrap() > 0 && edges.parse::<u64>().unwrap() > 0 && day.len() == 10, "{row:?}");
        let kept = fs::read_dir(fuzz().join("corpus").join(target)).unwrap();
        let lengths: Vec<u64> = kept.map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert_eq!(lengths.len().to_string(), files, "fuzz/corpus/{target}");
        assert!(lengths.iter().all(|length| *length <= 8192), "fuzz/corpus/{target}: fuzz/run.sh takes no more");
        all += lengths.iter().sum::<u64>();
        let shown = format!("| `{target}` | {inputs} | {edges} | {files} | {day} |");
        assert!(docs.lines().any(|line| line == shown), "docs/fuzzing.md lacks {shown}");
    }
    for folder in names(&fuzz().join("corpus")) {
        assert!(counted.contains(&folder), "fuzz/corpus/{folder} is of no target in fuzz/campaign.tsv");
    }
    let shown = docs.lines().skip_while(|line| !line.starts_with("| target | inputs |")).skip(2);
    assert_eq!(shown.take_while(|line| line.starts_with('|')).count(), rows.len(), "docs/fuzzing.md shows other rows");
    assert!(all < 8 << 20, "fuzz/corpus has {all} octets");
}

/// Seeds of binary formats are what the program writes today. `ONTICK_WRITE_SEEDS=1` writes them anew.
#[test]
fn binary_seeds_are_of_the_formats_of_today() {
    let all = [link_edges(), link_frames(), link_repeats(), messages(), pico_edges(), programs()].concat();
    for (file, bytes) in all {
        let path = fuzz().join("seeds").join(file);
        assert!(bytes.len() < 8192, "{file}: libFuzzer takes no more (fuzz/run.sh, -max_len)");
        if std::env::var_os("ONTICK_WRITE_SEEDS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        let kept = fs::read(&path).unwrap_or_default();
        assert!(kept == bytes, "fuzz/seeds/{file} is out of date: ONTICK_WRITE_SEEDS=1 writes it");
    }
}

type Seed = (&'static str, Vec<u8>);

/// With parity, so that every kind of block is in it.
fn data_frame(payload: &[u8]) -> (Frame, Shape) {
    (Frame { kind: Kind::Data, number: 7, payload: payload.to_vec() }, Shape { block: 8, parity: 50 })
}

/// A frame on the line, as the target reads edges: which code, then an octet that says what an edge is and one that says how
/// many half steps after the shortest stretch it came.
fn link_edges() -> Vec<Seed> {
    const RISES_OR_FALLS: u8 = 0b0100_0110;
    const RESTS: u8 = 0b0000_0001;
    let of = |number: u8, alphabet: &str, shortest_ns: u64, step_ns: u64| {
        let (frame, shape) = data_frame(b"ontick");
        let code = Code::new(alphabet, shortest_ns, step_ns).unwrap();
        let half_steps = |ns: &u32| {
            let beyond_ns = u64::from(*ns) - shortest_ns;
            assert_eq!(beyond_ns * 2 % step_ns, 0, "{alphabet}: {ns} ns");
            [RISES_OR_FALLS, u8::try_from(beyond_ns * 2 / step_ns).unwrap()]
        };
        let edges = Wave::new(&frame, shape, code).stretches.iter().flat_map(half_steps).collect::<Vec<_>>();
        [&[number, RISES_OR_FALLS, 0][..], &edges, &[RESTS, 200]].concat()
    };
    vec![
        ("link_edges/2x1", of(0, "2x1", 100_000, 100_000)),
        ("link_edges/4x4", of(1, "4x4", 20_000, 10_000)),
        ("link_edges/16x16", of(2, "16x16", 1_000, 400)),
    ]
}

/// A header and its blocks, each behind an octet whose lowest bit says that it did not arrive.
fn link_frames() -> Vec<Seed> {
    let of = |lost: Option<usize>| {
        let (frame, shape) = data_frame(b"bytes over a pulse-width wire");
        let parts = frame.parts(shape);
        let block = |(n, block): (usize, &Vec<u8>)| [&[u8::from(lost == Some(n))][..], block].concat();
        [&parts.header[..], &parts.blocks.iter().enumerate().flat_map(block).collect::<Vec<_>>()].concat()
    };
    vec![("link_frame/whole", of(None)), ("link_frame/one-lost", of(Some(1)))]
}

/// Sixteen octets for each frame: its kind, bits of its number and of the clock, its number, and what is in it.
fn link_repeats() -> Vec<Seed> {
    let (data, asking, last, acknowledgement) = (0, 1, 2, 3);
    let of = |frames: &[(u8, u8)]| {
        let words =
            frames.iter().map(|(kind, number)| [&[*kind, 10, *number][..], &[*number, 0, 0, 0], &[0; 9]].concat());
        words.collect::<Vec<_>>().concat()
    };
    vec![
        ("link_repeat/in-order", of(&[(data, 0), (acknowledgement, 1), (data, 1), (acknowledgement, 2), (last, 2)])),
        ("link_repeat/one-lost", of(&[(data, 0), (data, 2), (asking, 1), (acknowledgement, 1), (data, 1), (last, 3)])),
    ]
}

fn messages() -> Vec<Seed> {
    let request = Request { practice: false, run: 0x0102_0304, number: 70_000, period_ns: 1_000_000 };
    let residence = Some(Residence { kernel_ns: 5_000, program_ns: 700 });
    let of = |practice, residence| RoundTrip { request: Request { practice, ..request }, residence }.octets().to_vec();
    vec![
        ("roundtrip_message/request", of(false, None)),
        ("roundtrip_message/answer", of(false, residence)),
        ("roundtrip_message/practice", of(true, residence)),
    ]
}

/// Pulses of line 0, each answered by line 5, and what came of some others: a kind, a length and a payload each.
fn pico_edges() -> Vec<Seed> {
    let part = |frame: &[u8]| [&[frame[1], frame[3]], &frame[4..frame.len() - 4]].concat();
    let said = |message: Message| {
        let mut bytes = [0; LONGEST];
        let length = message.write(0, &mut bytes);
        part(&bytes[..length])
    };
    let edges = |bank: u8, line: u8, delay: u64| {
        let (mut writer, mut bytes) = (EdgeWriter::new(bank, 0), [0; LONGEST]);
        for n in 0..20 {
            // 1 us high, and a period that is never the same twice.
            let tick = n / 2 * (1_250 + n) + n % 2 * 125 + delay;
            assert!(writer.add(tick, line, frame::payload_of(&mut bytes)));
        }
        let length = frame::seal(Message::EDGES, 0, writer.finish(), &mut bytes);
        part(&bytes[..length])
    };
    let both = [edges(0, 0, 5_000), edges(1, 1, 5_030)].concat();
    let lost = [Some(7), None].map(|edges| said(Message::Lost(Lost { bank: 0, from: 9, to: 40_000, edges })));
    let until = said(Message::Status { until: 50_000, sent: 40, lost: 7, gaps: 1 });
    vec![
        ("pico_edges/answers", [&both[..], &until].concat()),
        ("pico_edges/lost", [&lost.concat()[..], &both, &until].concat()),
        ("pico_edges/earlier-again", [edges(0, 0, 5_000), edges(0, 0, 4_000), until].concat()),
    ]
}

/// An ELF file of 64 bits with two functions in one segment, behind the offset that is looked up.
fn programs() -> Vec<Seed> {
    const CODE: (u64, u64) = (0x400, 0x80);
    let names = b"\0servo\0main\0";
    let symbol = |name: u32, at: u64, size: u64| {
        let kind = [0x12, 0, 1, 0]; // a function that others may call, in the first section
        [&name.to_le_bytes()[..], &kind, &at.to_le_bytes(), &size.to_le_bytes()].concat()
    };
    let section = |kind: u32, link: u32, offset: u64, size: u64| {
        let words = |of: [u64; 2]| of.map(u64::to_le_bytes).concat();
        let link = [link.to_le_bytes(), [0; 4]].concat();
        [&0u32.to_le_bytes()[..], &kind.to_le_bytes(), &words([0, 0]), &words([offset, size]), &link, &words([1, 24])]
            .concat()
    };
    let halves = |of: &[u16]| of.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<_>>();
    let words = |of: &[u64]| of.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    // The header, one segment, two sections, two symbols of 24 octets, names.
    let (sections, symbols) = (64 + 56, 64 + 56 + 2 * 64);
    let header = [
        &b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"[..],
        &halves(&[2, 62]),
        &1u32.to_le_bytes(),
        &words(&[CODE.0, 64, sections]),
        &0u32.to_le_bytes(),
        &halves(&[64, 56, 1, 64, 2, 0]),
    ]
    .concat();
    let segment =
        [&1u32.to_le_bytes()[..], &5u32.to_le_bytes(), &words(&[0, CODE.0, CODE.0, CODE.1, CODE.1, 16])].concat();
    let tables = [section(2, 1, symbols, 48), section(3, 0, symbols + 48, names.len() as u64)].concat();
    let file =
        [header, segment, tables, symbol(1, CODE.0, 0x40), symbol(7, CODE.0 + 0x40, 0x40), names.to_vec()].concat();
    if cfg!(target_endian = "little") {
        let functions = Functions::read(&file.as_slice()).unwrap();
        assert_eq!([0x10, 0x50].map(|at| functions.at_offset(at)), ["servo", "main"].map(|name| Some(name.to_owned())));
    }
    vec![("inspect_elf/two-functions", [&0x50u64.to_le_bytes()[..], &file].concat())]
}
