//! A model of a kernel's source tree: makefiles with the targets and the manners of the real ones, in small. Options
//! that its Kconfig does not have, or whose dependency is off, are dropped without a word, as the real tools do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::{has, ontick, run, stdout};

const MAKEFILE: &str = r#"VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 1
EXTRAVERSION =
B := $(O)/arch/$(ARCH)/boot
R = 6.12.1$(shell sed -n 's/^CONFIG_LOCALVERSION="\(.*\)"/\1/p' $(O)/.config)
M = $(INSTALL_MOD_PATH)/lib/modules/$(R)
all:
	@echo "  CC      kernel/fork.o"
	@if [ -e broken ]; then echo "kernel/exit.c:7: error: no such thing" >&2; exit 2; fi
	@if [ -e slow ] && [ ! -e $(O)/began ]; then touch $(O)/began; sleep 1000; fi
	@echo "  CC      kernel/exit.o"
	@mkdir -p $(B)
	@{ echo kernel; cat .config-of-tree $(O)/.config; echo "$$KBUILD_BUILD_TIMESTAMP $$KBUILD_BUILD_USER"; } >$(B)/Image
	@if [ -e image ]; then cp image $(B)/Image; fi
	@echo map >$(O)/System.map
defconfig:
	@cp arch/$(ARCH)/configs/defconfig $(O)/.config
olddefconfig:
	@sh scripts/olddefconfig $(O)/.config
kernelrelease:
	@echo $(R)
modules_install:
	@mkdir -p $(M)
	@echo module >$(M)/a.ko
	@ln -s $(O) $(M)/build
dtbs_install:
	@mkdir -p $(INSTALL_DTBS_PATH)/overlays $(INSTALL_DTBS_PATH)/broadcom
	@echo tree >$(INSTALL_DTBS_PATH)/broadcom/bcm2837-rpi-3-b-plus.dtb
	@echo overlay >$(INSTALL_DTBS_PATH)/overlays/o.dtbo
"#;

/// Keeps what the list of options has and whose dependency (after a colon) is on.
const OLDDEFCONFIG: &str = r#"
cp "$1" "$1.asked"
: >"$1"
while IFS=: read -r name needs; do
  line=$(grep "^CONFIG_$name=" "$1.asked") || continue
  [ -z "$needs" ] || grep -q "^CONFIG_$needs=y" "$1.asked" || continue
  echo "$line" >>"$1"
done <scripts/options
grep -q "select ARCH_SUPPORTS_RT" arch/arm64/Kconfig || sed -i /PREEMPT_RT=/d "$1"
rm "$1.asked"
"#;

pub struct Modelled {
    folder: tempfile::TempDir,
}

impl Modelled {
    /// Nothing where the machine lacks what makes it work.
    pub fn lay() -> Option<Self> {
        if !has("make") || !has("xz") {
            return None;
        }
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        // Programs that only have to be there.
        for program in ["flex", "bison", "bc", "depmod", "gcc", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-ld"] {
            tree.write(&format!("bin/{program}"), "#!/bin/sh\necho 'gcc (modelled) 1'\n");
            let place = tree.folder().join("bin").join(program);
            fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let names = options();
        let mut kconfig = String::from("source \"arch/$(SRCARCH)/Kconfig\"\n");
        for name in &names {
            let depends = if name == "PREEMPT_RT" { "\tdepends on ARCH_SUPPORTS_RT\n" } else { "" };
            kconfig += &format!("config {name}\n\ttristate \"{name}\"\n{depends}");
        }
        kconfig += "config NEEDS_FOO\n\tbool \"x\"\n\tdepends on FOO\nconfig FOO\n\tbool \"f\"\nconfig GPIO_SIM\n\ttristate \"s\"\n";
        let list: String = names.iter().map(|name| format!("{name}:\n")).collect();
        tree.write("linux/Makefile", MAKEFILE);
        tree.write("linux/Kconfig", &kconfig);
        tree.write("linux/.config-of-tree", "");
        tree.write("linux/scripts/olddefconfig", OLDDEFCONFIG);
        tree.write(
            "linux/scripts/options",
            &format!("{list}ARM64:\nMODULES:\nOF:\nLOCALVERSION:\nNEEDS_FOO:FOO\nFOO:\nGPIO_SIM:\n"),
        );
        tree.write("linux/arch/arm64/configs/defconfig", "CONFIG_ARM64=y\nCONFIG_MODULES=y\nCONFIG_OF=y\n");
        let arch = "config ARM64\n\tdef_bool y\n\tselect ARCH_SUPPORTS_RT\nconfig ARCH_SUPPORTS_RT\n\tbool\n\
            config LOCALVERSION\n\tstring \"v\"\n";
        tree.write("linux/arch/arm64/Kconfig", arch);
        Some(tree)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub fn write_bytes(&self, path: &str, bytes: &[u8]) {
        let place = self.folder().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
    }

    /// A command about this tree, for a Raspberry Pi 3.
    pub fn ontick(&self, command: &str, words: &[&str]) -> Command {
        let source = self.folder().join("linux");
        let mut ontick = ontick(&["kernel", command, "--board", "rpi3", "--source", source.to_str().unwrap()]);
        let path = std::env::var("PATH").unwrap_or_default();
        ontick.args(words).env("PATH", format!("{}:{path}", self.folder().join("bin").display()));
        ontick.env("SOURCE_DATE_EPOCH", "1700000000").current_dir(self.folder());
        ontick
    }

    pub fn configure(&self, words: &[&str]) -> Output {
        self.ontick("configure", words).output().unwrap()
    }

    pub fn build(&self, words: &[&str]) -> Output {
        self.ontick("build", words).output().unwrap()
    }
}

/// All that the board's fragment asks for, so that the model has it.
fn options() -> Vec<String> {
    let fragment = stdout(&run(&["kernel", "configure", "--board", "rpi3"]));
    let name = |line: &str| {
        let rest = line.strip_prefix("CONFIG_").or_else(|| line.strip_prefix("# CONFIG_"))?;
        Some(rest.split(['=', ' ']).next()?.to_owned())
    };
    fragment.lines().filter_map(name).collect()
}
