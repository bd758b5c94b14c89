//! Edges as a value change dump (IEEE 1364, clause 18), for programs that draw or decode it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use ontick_gpio::Edge;

/// Edges that wait for those of other lines, which may have been before them.
const WAITING: usize = 1 << 20;

/// A line at the beginning of a dump.
pub struct Begun {
    pub name: String,
    pub level: bool,
    /// When that was read, in ns: edges until then are in it.
    pub read_ns: u64,
}

/// What is written of one line.
struct Dumped {
    code: String,
    name: String,
    level: bool,
    read_ns: u64,
    /// Nothing more comes from before this, in ns.
    told_ns: u64,
    has_changed: bool,
}

/// An edge that is to be written, by its time and in the order in which it came.
type Pending = Reverse<(u64, u64, usize, bool, u32)>;

/// A dump that goes on. Each line's edges come in order, and all are written in order.
pub struct Dump<W> {
    out: W,
    lines: Vec<Dumped>,
    begun_ns: u64,
    pending: BinaryHeap<Pending>,
    came: u64,
    /// The last time that was written, in ns since the beginning.
    at_ns: u64,
}

impl<W: Write> Dump<W> {
    /// Writes what the lines show when the last of them was read.
    pub fn begin(mut out: W, lines: Vec<Begun>) -> io::Result<Self> {
        let begun_ns = lines.iter().map(|line| line.read_ns).max().unwrap_or_default();
        let lines: Vec<Dumped> = lines.into_iter().enumerate().map(|(n, line)| dumped(n, line)).collect();
        write!(out, "$version ontick {} $end\n$timescale 1 ns $end\n", env!("CARGO_PKG_VERSION"))?;
        write!(out, "$comment #0 is {begun_ns} ns on the monotonic clock $end\n$scope module gpio $end\n")?;
        for line in &lines {
            writeln!(out, "$var wire 1 {} {} $end", line.code, line.name)?;
        }
        write!(out, "$upscope $end\n$enddefinitions $end\n#0\n$dumpvars\n")?;
        for line in &lines {
            writeln!(out, "{}{}", u8::from(line.level), line.code)?;
        }
        writeln!(out, "$end")?;
        out.flush()?;
        Ok(Self { out, lines, begun_ns, pending: BinaryHeap::new(), came: 0, at_ns: 0 })
    }

    /// The next edge of a line.
    pub fn edge(&mut self, line: usize, edge: Edge) {
        let dumped = &mut self.lines[line];
        dumped.told_ns = edge.time_ns;
        if edge.time_ns > dumped.read_ns {
            self.pending.push(Reverse((edge.time_ns, self.came, line, edge.rising, edge.lost)));
            self.came += 1;
        }
    }

    /// A line had no edge until `until_ns` that has not come.
    pub fn quiet(&mut self, line: usize, until_ns: u64) {
        self.lines[line].told_ns = until_ns;
    }

    /// Writes what no earlier edge of another line can come before any more.
    pub fn write_told(&mut self) -> io::Result<()> {
        let told_ns = self.lines.iter().map(|line| line.told_ns).min().unwrap_or(u64::MAX);
        self.write_until(told_ns)
    }

    fn write_until(&mut self, told_ns: u64) -> io::Result<()> {
        let mut wrote = false;
        while let Some(Reverse((time_ns, _, line, rising, lost))) = self.pending.peek().copied() {
            if time_ns > told_ns && self.pending.len() <= WAITING {
                break;
            }
            self.pending.pop();
            self.change(line, time_ns, rising, lost)?;
            wrote = true;
        }
        if wrote { self.out.flush() } else { Ok(()) }
    }

    /// The rest, and that it lasted until `end_ns`.
    pub fn end(mut self, end_ns: u64) -> io::Result<()> {
        self.write_until(u64::MAX)?;
        self.advance(end_ns.saturating_sub(self.begun_ns))?;
        self.out.flush()
    }

    fn change(&mut self, line: usize, time_ns: u64, rising: bool, lost: u32) -> io::Result<()> {
        let at_ns = time_ns.saturating_sub(self.begun_ns).max(self.at_ns);
        let Dumped { level, has_changed, .. } = self.lines[line];
        let is_same = level == rising;
        self.lines[line].has_changed = true;
        if is_same && lost == 0 && !has_changed {
            // The interrupt came after the level was read that it tells of.
            return Ok(());
        }
        if is_same || lost > 0 {
            self.unknown(line, at_ns, lost)?;
        }
        self.advance(at_ns)?;
        self.lines[line].level = rising;
        writeln!(self.out, "{}{}", u8::from(rising), self.lines[line].code)
    }

    /// The line had another level in between, nobody knows when: a moment of that is shown.
    fn unknown(&mut self, line: usize, at_ns: u64, lost: u32) -> io::Result<()> {
        let name = &self.lines[line].name;
        writeln!(self.out, "$comment {lost} edges of {name} were lost before #{at_ns} $end")?;
        if at_ns > self.at_ns {
            self.advance(at_ns - 1)?;
            writeln!(self.out, "x{}", self.lines[line].code)?;
        }
        Ok(())
    }

    fn advance(&mut self, at_ns: u64) -> io::Result<()> {
        if at_ns <= self.at_ns {
            return Ok(());
        }
        self.at_ns = at_ns;
        writeln!(self.out, "#{at_ns}")
    }
}

fn dumped(n: usize, line: Begun) -> Dumped {
    let Begun { name, level, read_ns } = line;
    Dumped { code: code(n), name: word(&name), level, read_ns, told_ns: read_ns, has_changed: false }
}

/// The nth of the codes that a dump calls its variables by: printable characters.
fn code(n: usize) -> String {
    const DIGITS: usize = 94;
    let digit = char::from(b'!' + (n % DIGITS) as u8);
    if n < DIGITS { digit.into() } else { format!("{digit}{}", code(n / DIGITS - 1)) }
}

/// A name as one word, which no keyword is.
fn word(name: &str) -> String {
    let harmless = |c: char| if c.is_ascii_graphic() && c != '$' { c } else { '_' };
    name.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const HEAD: &str = "$scope module gpio $end\n$var wire 1 ! sim:bench/4 $end\n$var wire 1 \" P9_12_[eth] $end\n$upscope $end\n\
                        $enddefinitions $end\n#0\n$dumpvars\n0!\n1\"\n$end\n";

    fn two(out: &mut Vec<u8>) -> Dump<&mut Vec<u8>> {
        let begun = |name: &str, level, read_ns| Begun { name: name.into(), level, read_ns };
        Dump::begin(out, vec![begun("sim:bench/4", false, 900), begun("P9_12 [eth]", true, 1_000)]).unwrap()
    }

    fn edge(rising: bool, time_ns: u64, lost: u32) -> Edge {
        Edge { rising, time_ns, lost }
    }

    fn changes(out: &[u8]) -> String {
        let text = String::from_utf8(out.to_vec()).unwrap();
        let (head, changes) = text.split_once(HEAD).expect("the declarations");
        assert!(head.contains("$timescale 1 ns $end\n$comment #0 is 1000 ns on the monotonic clock $end\n"), "{head}");
        changes.into()
    }

    #[test]
    fn edges_of_several_lines_are_written_by_their_times() {
        let mut out = Vec::new();
        let mut dump = two(&mut out);
        dump.edge(0, edge(true, 1_500, 0));
        dump.edge(0, edge(false, 1_700, 0));
        dump.write_told().unwrap();
        assert!(dump.pending.len() == 2, "the other line may have had one before");
        dump.edge(1, edge(false, 1_600, 0));
        dump.write_told().unwrap();
        assert_eq!(dump.pending.len(), 1);
        dump.quiet(1, 5_000);
        dump.write_told().unwrap();
        assert!(dump.pending.is_empty());
        dump.edge(1, edge(true, 6_000, 0));
        dump.end(9_000).unwrap();
        assert_eq!(changes(&out), "#500\n1!\n#600\n0\"\n#700\n0!\n#5000\n1\"\n#8000\n");
    }

    #[test]
    fn what_was_before_the_level_was_read_is_in_that() {
        let mut out = Vec::new();
        let mut dump = two(&mut out);
        // Before it was read, then before all lines were; and one whose interrupt came late.
        dump.edge(0, edge(true, 850, 0));
        dump.edge(0, edge(true, 950, 0));
        dump.edge(1, edge(true, 1_010, 0));
        dump.edge(1, edge(false, 1_020, 0));
        dump.end(1_020).unwrap();
        assert_eq!(changes(&out), "1!\n#20\n0\"\n");
    }

    #[test]
    fn where_edges_were_lost_the_level_is_unknown_for_a_moment() {
        let mut out = Vec::new();
        let mut dump = two(&mut out);
        for (rising, time_ns, lost) in [(true, 1_100, 0), (true, 1_200, 3), (false, 1_300, 2), (false, 1_301, 0)] {
            dump.edge(0, edge(rising, time_ns, lost));
        }
        dump.end(0).unwrap();
        let lost = |edges, at| format!("$comment {edges} edges of sim:bench/4 were lost before #{at} $end\n");
        let expected = [
            "#100\n1!\n",
            &lost(3, 200),
            "#199\nx!\n#200\n1!\n",
            &lost(2, 300),
            "#299\nx!\n#300\n0!\n",
            &lost(0, 301),
            "x!\n#301\n0!\n",
        ];
        assert_eq!(changes(&out), expected.concat());
    }

    #[test]
    fn an_edge_that_comes_too_late_moves_no_other() {
        let mut out = Vec::new();
        let mut dump = two(&mut out);
        dump.quiet(1, 2_000);
        dump.edge(0, edge(true, 1_900, 0));
        dump.write_told().unwrap();
        dump.edge(1, edge(false, 1_800, 0));
        dump.end(1_900).unwrap();
        assert_eq!(changes(&out), "#900\n1!\n0\"\n");
    }

    #[test]
    fn every_variable_has_a_code_of_its_own() {
        let codes: BTreeSet<String> = (0..20_000).map(code).collect();
        assert_eq!(codes.len(), 20_000);
        assert!(codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_graphic())));
        assert_eq!([word("$end"), word("Grün"), word("a b")], ["_end", "Gr_n", "a_b"]);
    }
}
