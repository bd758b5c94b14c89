//! A profile as a file: the settings that were found to help on a machine, to be applied there again.

use ontick_units::CpuList;
use toml::de::{DeTable, DeValue};

use crate::knobs;
use crate::target::Profile;

/// Name and version of the format.
const FORMAT: &str = "ontick-profile/1";
/// No profile of any machine is larger.
pub const LARGEST: usize = 1 << 20;

/// Which settings, and for which CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileFile {
    /// The profile that their values are of.
    pub profile: Profile,
    /// The CPUs for timed programs; the usual choice where it names none.
    pub cpus: Option<CpuList>,
    /// The settings.
    pub knobs: Vec<String>,
    /// The kernel arguments, by their names.
    pub arguments: Vec<String>,
}

/// Why a file is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileFileError {
    /// It is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// It is something else, or of another version.
    #[error("it is no profile (format = \"{FORMAT}\" is missing)")]
    Foreign,
    /// A key has no such value.
    #[error("{key}: {problem}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A key that there is not.
    #[error("there is no {0} (format, profile, cpus, knobs, arguments)")]
    UnknownKey(String),
}

impl ProfileFile {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Self, ProfileFileError> {
        let table = DeTable::parse(text).map_err(|error| ProfileFileError::Syntax(syntax(text, &error)))?;
        let table = table.get_ref();
        let wrong = |key: &'static str, problem: String| ProfileFileError::Value { key, problem };
        let text = |key: &'static str| match table.get(key).map(|value| value.get_ref()) {
            None => Ok(None),
            Some(DeValue::String(text)) => Ok(Some(text.to_string())),
            Some(_) => Err(wrong(key, "must be a text".into())),
        };
        if text("format")?.as_deref() != Some(FORMAT) {
            return Err(ProfileFileError::Foreign);
        }
        let known = ["format", "profile", "cpus", "knobs", "arguments"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            return Err(ProfileFileError::UnknownKey(key.get_ref().to_string()));
        }
        let profile = text("profile")?.ok_or_else(|| wrong("profile", "is missing".into()))?;
        let profile = profile.parse::<Profile>().map_err(|e| wrong("profile", e.to_string()))?;
        let cpus =
            text("cpus")?.map(|cpus| cpus.parse::<CpuList>().map_err(|e| wrong("cpus", e.to_string()))).transpose()?;
        let list = |key: &'static str, read: fn(&str) -> Result<String, String>| {
            let no_list = || wrong(key, "must be a list of texts".into());
            let list = match table.get(key).map(|value| value.get_ref()) {
                None => return Ok(Vec::new()),
                Some(DeValue::Array(list)) => list,
                Some(_) => return Err(no_list()),
            };
            let each = list.iter().map(|value| match value.get_ref() {
                DeValue::String(name) => read(name).map_err(|why| wrong(key, why)),
                _ => Err(no_list()),
            });
            each.collect::<Result<Vec<String>, _>>()
        };
        let knobs = list("knobs", |name| knobs::named(name).map(|k| k.name.into()).map_err(|e| e.to_string()))?;
        let arguments = list("arguments", argument)?;
        match (table.get("knobs").is_some(), knobs.is_empty() && arguments.is_empty()) {
            (false, true) => Err(wrong("knobs", "is missing".into())),
            (true, true) => Err(wrong("knobs", "names no setting".into())),
            _ => Ok(Self { profile, cpus, knobs, arguments }),
        }
    }

    /// As a file, below these notes.
    pub fn text(&self, notes: &[String]) -> String {
        let mut text: String =
            notes.iter().map(|note| format!("# {}\n", note.replace(|c: char| c.is_control(), " "))).collect();
        text += &format!("format = \"{FORMAT}\"\nprofile = \"{}\"\n", self.profile.name());
        if let Some(cpus) = &self.cpus {
            text += &format!("cpus = \"{cpus}\"\n");
        }
        let mut list = |key: &str, names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            text += &format!("{key} = [{}]\n", names.join(", "));
        };
        if !self.knobs.is_empty() {
            list("knobs", &self.knobs);
        }
        if !self.arguments.is_empty() {
            list("arguments", &self.arguments);
        }
        text
    }
}

/// What is wrong and where, in one line: the line of the file may be as long as the file.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |part| part.chars().count()) + 1;
    format!("line {line}, column {column}: {}", error.message())
}

/// A kernel argument's name, without a value.
fn argument(name: &str) -> Result<String, String> {
    match !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)) {
        true => Ok(name.into()),
        false => Err(format!("\"{name}\" is no name of a kernel argument (without its value, which the profile has)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_reads_back() {
        let profile = ProfileFile {
            profile: Profile::LowLatency,
            cpus: Some("1,3".parse().unwrap()),
            knobs: vec!["governor".into(), "stat-interval".into()],
            arguments: Vec::new(),
        };
        let text = profile.text(&["found here".into(), "one\nknobs = []".into()]);
        assert_eq!(ProfileFile::parse(&text), Ok(profile.clone()), "{text}");
        let at_boot = ProfileFile { arguments: vec!["nohz_full".into(), "skew_tick".into()], ..profile };
        let alone = ProfileFile { knobs: Vec::new(), ..at_boot.clone() };
        let anywhere = ProfileFile { cpus: None, ..at_boot.clone() };
        for profile in [at_boot, alone, anywhere] {
            assert_eq!(ProfileFile::parse(&profile.text(&[])), Ok(profile));
        }
    }

    #[test]
    fn what_is_no_profile_is_refused_with_what_is_wrong() {
        let format = "format = \"ontick-profile/1\"\n";
        for (text, part) in [
            ("", "no profile"),
            ("format = \"ontick-profile/2\"", "no profile"),
            ("format = 1", "format: must be a text"),
            ("knobs = [", "line 1, column "),
            ("\n{\"schema\":\"ontick-run/1\"}", "line 2, column 1: "),
            (&format!("{format}profile = \"fast\"\nknobs = []"), "no profile \"fast\""),
            (&format!("{format}profile = \"low-latency\""), "knobs: is missing"),
            (&format!("{format}profile = \"low-latency\"\nknobs = []"), "names no setting"),
            (&format!("{format}profile = \"low-latency\"\nknobs = [\"colour\"]"), "no knob \"colour\""),
            (&format!("{format}profile = \"low-latency\"\narguments = [\"isolcpus=1\"]"), "arguments: \"isolcpus=1\""),
            (&format!("{format}profile = \"low-latency\"\ncpus = \"x\"\nknobs = [\"governor\"]"), "cpus: "),
            (&format!("{format}profile = \"low-latency\"\nknob = [\"governor\"]"), "there is no knob ("),
        ] {
            let error = ProfileFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.lines().count() == 1, "{text}: {error}");
        }
    }
}
