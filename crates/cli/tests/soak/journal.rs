//! What was done and found, as it happens: a file of lines with the time, what, and how it went.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

pub struct Journal {
    began: Instant,
    file: File,
    pub faults: u64,
    pub findings: Vec<String>,
}

impl Journal {
    pub fn begin(path: &Path, seed: u64) -> Self {
        let file = File::create(path).expect("the soak's journal");
        let mut journal = Self { began: Instant::now(), file, faults: 0, findings: Vec::new() };
        journal.line("seed", &seed.to_string());
        journal
    }

    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    pub fn fault(&mut self, what: &str) {
        self.faults += 1;
        self.line("fault", what);
    }

    pub fn note(&mut self, what: &str) {
        self.line("note", what);
    }

    pub fn found(&mut self, findings: Vec<String>) {
        for finding in findings {
            self.line("FOUND", &finding);
            self.findings.push(finding);
        }
    }

    fn line(&mut self, kind: &str, what: &str) {
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        writeln!(self.file, "{:.1}\t{kind}\t{what}", self.seconds()).expect("the soak's journal");
    }
}
