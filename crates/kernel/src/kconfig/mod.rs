//! The kernel's own description of its options (`Kconfig`), as far as it tells why one did not come to be.

mod expression;
mod read;

use std::collections::BTreeMap;
use std::path::Path;

pub use expression::{Expression, Tri};

use ontick_machine::facts::KernelConfig;

/// One place that defines an option; some are defined in several.
#[derive(Debug, Clone, Default)]
pub struct Definition {
    /// File and line.
    pub place: String,
    /// All of these must hold: its own `depends on` and those of what it stands in.
    pub depends: Vec<Expression>,
    /// Whether a person may set it; else only other options do.
    pub prompt: bool,
    /// Whether it is y or n, and never a module.
    pub yes_or_no: bool,
    /// Which choice it belongs to, if any: of its members one is on.
    pub choice: Option<usize>,
}

/// An option that another one turns on.
#[derive(Debug, Clone)]
pub struct Select {
    /// Who turns it on.
    pub by: String,
    /// When.
    pub when: Option<Expression>,
}

/// All options of a source tree, for one architecture.
#[derive(Debug, Default)]
pub struct Options {
    definitions: BTreeMap<String, Vec<Definition>>,
    selects: BTreeMap<String, Vec<Select>>,
}

impl Options {
    /// Reads a source tree's, following `source` lines from its top; what cannot be read is left out.
    pub fn of_tree(tree: &Path, arch: &str) -> Self {
        let mut options = Self::default();
        let file = |path: &str| std::fs::read_to_string(tree.join(path.replace("$(SRCARCH)", arch))).ok();
        read::read(&mut options, &file, "Kconfig");
        options
    }

    /// Reads one text, which stands for a whole tree.
    pub fn parse(text: &str) -> Self {
        let mut options = Self::default();
        read::read(&mut options, &|path| (path == "Kconfig").then(|| text.to_owned()), "Kconfig");
        options
    }

    /// Whether there is such an option.
    pub fn has(&self, name: &str) -> bool {
        self.definitions.contains_key(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// What keeps an option from being on: the parts of its dependencies that do not hold, from the definition that
    /// lacks least. Empty where all hold, or where it is not defined.
    pub fn unmet(&self, name: &str, config: &KernelConfig) -> Vec<String> {
        let unmet = |definition: &Definition| -> Vec<String> {
            let mut all: Vec<String> = definition.depends.iter().flat_map(|depends| depends.unmet(config)).collect();
            let mut seen = std::collections::BTreeSet::new();
            all.retain(|one| seen.insert(one.clone()));
            all
        };
        self.definitions.get(name).into_iter().flatten().map(unmet).min_by_key(Vec::len).unwrap_or_default()
    }

    /// Whether a person may set it.
    pub fn has_prompt(&self, name: &str) -> bool {
        self.definitions.get(name).into_iter().flatten().any(|definition| definition.prompt)
    }

    /// Whether it is y or n, and never a module.
    pub fn is_yes_or_no(&self, name: &str) -> bool {
        self.definitions.get(name).into_iter().flatten().any(|definition| definition.yes_or_no)
    }

    /// Whether it belongs to a choice.
    pub fn in_choice(&self, name: &str) -> bool {
        self.definitions.get(name).into_iter().flatten().any(|definition| definition.choice.is_some())
    }

    /// Who may turn it on.
    pub fn selectors(&self, name: &str) -> Vec<&str> {
        self.selects.get(name).into_iter().flatten().map(|select| select.by.as_str()).collect()
    }

    /// Who does turn it on in a configuration.
    pub fn selected_by(&self, name: &str, config: &KernelConfig) -> Vec<&str> {
        let does = |select: &&Select| {
            config.has(&select.by) == Some(true)
                && select.when.as_ref().is_none_or(|when| when.value(config) != Some(Tri::No))
        };
        self.selects.get(name).into_iter().flatten().filter(does).map(|select| select.by.as_str()).collect()
    }

    /// The member of the same choice that a configuration has instead.
    pub fn chosen_instead(&self, name: &str, config: &KernelConfig) -> Option<&str> {
        let choice = self.definitions.get(name)?.iter().find_map(|definition| definition.choice)?;
        let member = |(other, defined): (&'_ String, &Vec<Definition>)| {
            other != name
                && defined.iter().any(|definition| definition.choice == Some(choice))
                && config.get(other) == Some("y")
        };
        self.definitions.iter().find(|(other, defined)| member((other, defined))).map(|(other, _)| other.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = r#"
mainmenu "Linux"
config EXPERT
	bool "Configure standard kernel features (expert users)"
config ARCH_SUPPORTS_RT
	bool
choice
	prompt "Preemption"
	default NONE
config NONE
	bool "No forced preemption"
config FULL
	bool "Preemptible" # a comment
	depends on !ARCH_NO_PREEMPT
endchoice
menu "Real time"
	depends on EXPERT
config PREEMPT_RT
	bool "Fully preemptible"
	depends on ARCH_SUPPORTS_RT && \
		!COMPILE_TEST
	select PREEMPTION
	help
	  config NOT_AN_OPTION
	  if this is read as more than help, it is wrong

endmenu
config PREEMPTION
	bool
if NET && (A || B="x")
menuconfig TAPRIO
	tristate
	prompt "Gates" if EXPERT
endif
"#;

    fn config(text: &str) -> KernelConfig {
        KernelConfig::parse("x", text)
    }

    #[test]
    fn what_keeps_an_option_off_is_named() {
        let options = Options::parse(TREE);
        assert!(options.has("PREEMPT_RT") && !options.has("NOT_AN_OPTION") && options.len() == 7);
        let unmet = |name: &str, text: &str| options.unmet(name, &config(text)).join("; ");
        assert_eq!(unmet("PREEMPT_RT", "CONFIG_X=y"), "EXPERT, which is not set; ARCH_SUPPORTS_RT, which is not set");
        let rt = "CONFIG_EXPERT=y\nCONFIG_ARCH_SUPPORTS_RT=y\n";
        assert_eq!(unmet("PREEMPT_RT", rt), "");
        assert_eq!(unmet("PREEMPT_RT", &format!("{rt}CONFIG_COMPILE_TEST=y\n")), "!COMPILE_TEST, which is y");
        assert_eq!(unmet("TAPRIO", "CONFIG_NET=y\n"), "A || B=x");
        assert_eq!(unmet("TAPRIO", "CONFIG_NET=y\nCONFIG_B=\"x\"\n"), "");
    }

    #[test]
    fn who_sets_an_option_is_known() {
        let options = Options::parse(TREE);
        assert!(options.has_prompt("TAPRIO") && options.has_prompt("FULL") && !options.has_prompt("PREEMPTION"));
        assert_eq!(options.selectors("PREEMPTION"), ["PREEMPT_RT"]);
        assert_eq!(options.selected_by("PREEMPTION", &config("CONFIG_X=y\n")), [""; 0]);
        assert_eq!(options.selected_by("PREEMPTION", &config("CONFIG_PREEMPT_RT=y\n")), ["PREEMPT_RT"]);
        assert_eq!(options.chosen_instead("FULL", &config("CONFIG_NONE=y\n")), Some("NONE"));
        assert_eq!(options.chosen_instead("FULL", &config("CONFIG_FULL=y\n")), None);
    }
}
