//! A profile as a file: the settings that were found to help on a machine, to be applied there again.

use ontick_units::CpuList;
use toml::de::{DeTable, DeValue};

use crate::facts::arguments::key_of;
use crate::knobs;
use crate::own_setting::OwnSetting;
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
    /// The kernel arguments, by their names or with values of their own.
    pub arguments: Vec<String>,
    /// Settings of one's own.
    pub set: Vec<OwnSetting>,
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
    #[error("there is no key \"{0}\" (there are format, profile, cpus, knobs, arguments, [set])")]
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
        let known = ["format", "profile", "cpus", "knobs", "arguments", "set"];
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
        let name = |argument: &str| key_of(argument).replace('-', "_");
        if let Some(twice) =
            (1..arguments.len()).find(|at| arguments[..*at].iter().any(|a| name(a) == name(&arguments[*at])))
        {
            return Err(wrong("arguments", format!("\"{}\" is there twice", arguments[twice])));
        }
        let set = match table.get("set").map(|value| value.get_ref()) {
            None => Vec::new(),
            Some(DeValue::Table(own)) => own_settings(own).map_err(|problem| wrong("set", problem))?,
            Some(_) => return Err(wrong("set", "must be a table ([set])".into())),
        };
        match (table.get("knobs").is_some(), knobs.is_empty() && arguments.is_empty() && set.is_empty()) {
            (false, true) => Err(wrong("knobs", "is missing".into())),
            (true, true) => Err(wrong("knobs", "names no setting".into())),
            _ => Ok(Self { profile, cpus, knobs, arguments, set }),
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
        if !self.set.is_empty() {
            text += "\n[set]\n";
        }
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
        self.set.iter().for_each(|own| text += &format!("{} = {}\n", quoted(&own.path), quoted(&own.value)));
        text
    }
}

/// The settings of a table, each once. `vm.nr_hugepages` without quotes is a table `vm` in TOML.
fn own_settings(table: &DeTable<'_>) -> Result<Vec<OwnSetting>, String> {
    let mut all: Vec<OwnSetting> = Vec::new();
    let mut pending: Vec<(String, &DeValue<'_>)> = named("", table);
    while let Some((name, value)) = pending.pop() {
        let value = match value {
            DeValue::Table(inner) => {
                pending.extend(named(&format!("{name}."), inner));
                continue;
            }
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => number.to_string(),
                Err(_) => return Err(format!("\"{name}\": {number} is too large")),
            },
            _ => return Err(format!("\"{name}\" must be a text or a whole number")),
        };
        let own = OwnSetting::new(&name, &value).map_err(|e| e.to_string())?;
        if all.iter().any(|known| known.path == own.path) {
            return Err(format!("{} is set twice", own.path));
        }
        all.push(own);
    }
    Ok(all)
}

/// What a table holds, the last first.
fn named<'a>(before: &str, table: &'a DeTable<'a>) -> Vec<(String, &'a DeValue<'a>)> {
    let each = table.iter().map(|(key, value)| (format!("{before}{}", key.get_ref()), value.get_ref()));
    let mut all: Vec<_> = each.collect();
    all.reverse();
    all
}

/// What is wrong and where, in one line: the line of the file may be as long as the file.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |part| part.chars().count()) + 1;
    format!("line {line}, column {column}: {}", error.message())
}

/// What says how the machine starts, by the kernel, an initramfs or systemd: one that is replaced may keep it from that. Names
/// have `_` for `-`.
const OF_THE_START: &str = "\
    1 2 3 4 5 BOOTIF BOOT_IMAGE S boot bootdev bootfs break console cryptdevice cryptkey cryptopts cryptroot dm \
    earlycon emergency ifname init initrd initrdmem ip live_media live_media_path md nameserver netroot nfsaddrs \
    nfsroot nfsrootdebug noinitrd noresume ontick ostree overlayroot raid rdinit rescue resume resume_offset \
    resumedelay resumewait ro root rootdelay rootflags rootfstype roothash rootwait rw s single toram usrflags \
    usrhash vlan zfs zfs_force";
/// How others of them begin: those of dracut, systemd and the kernel's device mapper.
const OF_THE_START_BEGIN: [&str; 6] = ["dm_mod.", "luks", "mount.", "rd.", "rd_", "systemd."];

fn is_of_the_start(name: &str) -> bool {
    let name = name.replace('-', "_");
    OF_THE_START.split_whitespace().any(|known| known == name)
        || OF_THE_START_BEGIN.iter().any(|begin| name.starts_with(begin))
}

/// A kernel argument's name, which gets the profile's value, or one with a value. Some of the files that hold them are read by a
/// shell.
fn argument(text: &str) -> Result<String, String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let is_plain = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    match () {
        () if !is_plain(name, "_-.") || !value.is_none_or(|value| is_plain(value, "_-.,:=+/@%")) => Err(format!(
            "\"{text}\" is no kernel argument such as nohz_full, to which the profile gives a value, or mce=ignore_ce"
        )),
        () if is_of_the_start(name) => {
            Err(format!("\"{text}\" says how the machine starts: it is not a profile's to change"))
        }
        () => Ok(text.into()),
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
            set: Vec::new(),
        };
        let text = profile.text(&["found here".into(), "one\nknobs = []".into()]);
        assert_eq!(ProfileFile::parse(&text), Ok(profile.clone()), "{text}");
        let at_boot = ProfileFile { arguments: vec!["nohz_full".into(), "tsc=reliable".into()], ..profile };
        let alone = ProfileFile { knobs: Vec::new(), ..at_boot.clone() };
        let anywhere = ProfileFile { cpus: None, ..at_boot.clone() };
        let own = |name: &str, value: &str| OwnSetting::new(name, value).unwrap();
        let set = vec![own("kernel.core_pattern", r#"|/bin/x "%p" \"#), own("vm.nr_hugepages", "64")];
        let own = ProfileFile { knobs: Vec::new(), arguments: Vec::new(), set: set.clone(), ..at_boot.clone() };
        let all = ProfileFile { set, ..at_boot.clone() };
        for profile in [at_boot, alone, anywhere, own, all] {
            assert_eq!(ProfileFile::parse(&profile.text(&[])), Ok(profile));
        }
    }

    #[test]
    fn settings_of_ones_own_are_read_with_quotes_and_without() {
        let text = "format = \"ontick-profile/1\"\nprofile = \"low-latency\"\n[set]\nvm.nr_hugepages = 0x40\n\
                    net.core.rmem_max = \"212992\"\n\"net.core.busy_poll\" = 50\n\"/sys/kernel/mm/ksm/run\" = -1\n";
        let set = ProfileFile::parse(text).unwrap().set;
        let mut found: Vec<String> = set.iter().map(|own| format!("{}={}", own.path, own.value)).collect();
        found.sort();
        assert_eq!(
            found,
            [
                "/proc/sys/net/core/busy_poll=50",
                "/proc/sys/net/core/rmem_max=212992",
                "/proc/sys/vm/nr_hugepages=64",
                "/sys/kernel/mm/ksm/run=-1"
            ]
        );
    }

    #[test]
    fn what_says_how_the_machine_starts_is_no_argument_of_a_profile() {
        let refused = "root=/x BOOT_IMAGE rd.luks.name=zz rd.lvm.lv=vg/swap rd_NO_LUKS systemd.unit=x.target luks=no luks.uuid=1 \
                       ip=dhcp nfsroot=/x cryptroot=/x cryptopts=x rootwait rootdelay=1 zfs=x ostree=/x boot=live live-media=/x \
                       live_media=/x usrflags=ro mount.usr=/x dm-mod.create=x dm_mod.waitfor=x single init=/x rdinit=/x initrd=/x";
        for text in refused.split_whitespace() {
            let said = argument(text).unwrap_err();
            assert!(said.contains("says how the machine starts"), "{text}: {said}");
        }
        for text in ["nohz_full", "mce=ignore_ce", "rcu_nocbs=1-3", "irqaffinity=0", "ipv6.disable=1", "rodata=off"] {
            assert_eq!(argument(text), Ok(text.into()));
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
            (&format!("{format}profile = \"low-latency\"\narguments = [\"isolcpus=\"]"), "arguments: \"isolcpus=\""),
            (&format!("{format}profile = \"low-latency\"\narguments = [\"a=$x\"]"), "arguments: \"a=$x\" is no kernel"),
            (&format!("{format}profile = \"low-latency\"\narguments = [\"a b\"]"), "arguments: \"a b\" is no kernel"),
            (&format!("{format}profile = \"low-latency\"\narguments = [\"root=/x\"]"), "says how the machine starts"),
            (
                &format!("{format}profile = \"low-latency\"\narguments = [\"rcu-nocbs=1\", \"rcu_nocbs\"]"),
                "\"rcu_nocbs\" is there twice",
            ),
            (&format!("{format}profile = \"low-latency\"\ncpus = \"x\"\nknobs = [\"governor\"]"), "cpus: "),
            (&format!("{format}profile = \"low-latency\"\nset = 1"), "set: must be a table"),
            (&format!("{format}profile = \"low-latency\"\n[set]"), "knobs: is missing"),
            (&format!("{format}profile = \"low-latency\"\n[set]\nvm.x = 1.5"), "set: \"vm.x\" must be a text or"),
            (&format!("{format}profile = \"low-latency\"\n[set]\nvm = true"), "set: \"vm\" must be a text or"),
            (&format!("{format}profile = \"low-latency\"\n[set]\n\"/etc/x\" = 1"), "set: \"/etc/x\" is neither"),
            (
                &format!("{format}profile = \"low-latency\"\n[set]\nvm.x = 1\n\"vm.x\" = 2"),
                "/proc/sys/vm/x is set twice",
            ),
            (&format!("{format}profile = \"low-latency\"\nknob = [\"governor\"]"), "there is no key \"knob\" ("),
        ] {
            let error = ProfileFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.lines().count() == 1, "{text}: {error}");
        }
    }
}
