//! Every number of a stream of samples is there or counted as missed.

/// What a reader of a stream of samples in CSV got.
#[derive(Debug, Default)]
pub struct Samples {
    pub delivered: u64,
    pub missed: u64,
    /// The number that comes next, once one has come.
    next: Option<u64>,
    /// What was reported missing since the last sample.
    gap: u64,
    pub wrong: Option<String>,
}

impl Samples {
    /// Takes a whole line.
    pub fn take(&mut self, line: &str) {
        if let Err(why) = self.taken(line) {
            self.wrong.get_or_insert(why);
        }
    }

    fn taken(&mut self, line: &str) -> Result<(), String> {
        if let Some(gap) = line.strip_prefix("# missed ") {
            let missed = gap.split_once(": ").and_then(|(missed, _)| missed.parse::<u64>().ok());
            let missed = missed.ok_or_else(|| format!("a gap that says nothing: {line}"))?;
            // What was missed before the first sample came to somebody is nobody's.
            if self.next.is_some() {
                self.gap += missed;
                self.missed += missed;
            }
            return Ok(());
        }
        if line.starts_with("number,") || line.starts_with('#') {
            return Ok(());
        }
        let number = line.split_once(',').and_then(|(number, _)| number.parse::<u64>().ok());
        let number = number.ok_or_else(|| format!("no sample: {line}"))?;
        let expected = self.next.map(|next| next + self.gap);
        (self.next, self.gap) = (Some(number + 1), 0);
        self.delivered += 1;
        match expected {
            Some(expected) if expected != number => Err(format!("sample {number} came where {expected} was due")),
            _ => Ok(()),
        }
    }

    /// The number of the last sample, if any came.
    pub fn last(&self) -> Option<u64> {
        self.next.map(|next| next - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use super::*;

    fn wrong(lines: &[&str]) -> Option<String> {
        let mut samples = Samples::default();
        lines.iter().for_each(|line| samples.take(line));
        samples.wrong
    }

    #[test]
    fn a_gap_is_counted_or_found() {
        assert_eq!(
            wrong(&["number,ramp", "4,0.5", "5,0.5", "# missed 2: late", "# missed 1: slow client", "9,1"]),
            None
        );
        assert_eq!(wrong(&["4,0.5", "6,0.5"]).unwrap(), "sample 6 came where 5 was due");
        assert_eq!(wrong(&["4,0.5", "# missed 2: late", "6,0.5"]).unwrap(), "sample 6 came where 7 was due");
        assert_eq!(wrong(&["4,0.5", "4,0.5"]).unwrap(), "sample 4 came where 5 was due");
        assert_eq!(wrong(&["4,0.5", "half"]).unwrap(), "no sample: half");
    }

    /// A client that is doctored: of the real stream it hides one.
    #[test]
    fn a_sample_that_a_client_drops_is_found() {
        let mut sampling =
            crate::ontick(&["sample", "--source", "wave:ramp", "--policy", "other", "--to", "-,format=csv"])
                .args(["--cpu", "any", "--stock", "--count", "60"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
        let lines: Vec<String> = BufReader::new(sampling.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
        assert!(sampling.wait().unwrap().success());
        let (mut honest, mut doctored) = (Samples::default(), Samples::default());
        lines.iter().for_each(|line| honest.take(line));
        let is_hidden =
            |line: &&String| line.split(',').next() == Some(&honest.last().unwrap().saturating_sub(1).to_string());
        let hidden: Vec<&String> = lines.iter().filter(is_hidden).collect();
        lines.iter().filter(|line| !is_hidden(line)).for_each(|line| doctored.take(line));
        assert_eq!((honest.delivered, &honest.wrong), (60, &None));
        // Where the last but one was late itself there is none to hide.
        if !hidden.is_empty() {
            assert!(doctored.wrong.is_some(), "{lines:?}");
        }
    }
}
