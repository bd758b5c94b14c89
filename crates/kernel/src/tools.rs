//! The programs and headers that configuring and building a kernel takes, and the packages that bring them.

use std::path::Path;

use ontick_machine::facts::KernelConfig;

use super::options::Arch;

/// Something that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Need {
    /// A program's name, or a header's path below the folders of headers.
    what: String,
    /// Debian's and Ubuntu's package.
    package: String,
}

/// How something is looked for, so that tests can say what is there.
pub trait Inventory {
    /// Whether there is such a program.
    fn program(&self, name: &str) -> bool;
    /// Whether there is such a header.
    fn header(&self, path: &str) -> bool;
}

/// This machine.
pub struct ThisMachine;

impl Inventory for ThisMachine {
    fn program(&self, name: &str) -> bool {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        // depmod lies where only root's path leads.
        let also = ["/usr/sbin", "/sbin"].map(Into::into);
        std::env::split_paths(&folders).chain(also).any(|folder| folder.join(name).is_file())
    }

    fn header(&self, path: &str) -> bool {
        let multiarch = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        ["/usr/include", "/usr/local/include", &multiarch].iter().any(|folder| Path::new(folder).join(path).is_file())
    }
}

/// What configuring takes and is not there: one sentence, or nothing.
pub fn lacking_to_configure(cross: &str, look: &dyn Inventory) -> Option<String> {
    sentence(&configure(cross), look)
}

/// What building this configuration takes and is not there: one sentence, or nothing.
pub fn lacking_to_build(
    arch: Arch,
    cross: &str,
    config: &KernelConfig,
    packs: &[&str],
    look: &dyn Inventory,
) -> Option<String> {
    let mut needs = configure(cross);
    needs.extend([need("bc", "bc"), need("depmod", "kmod"), need("tar", "tar"), need("sha256sum", "coreutils")]);
    needs.extend(packs.iter().map(|program| match *program {
        "dpkg-deb" => need("dpkg-deb", "dpkg"),
        "xz" => need("xz", "xz-utils"),
        other => need(other, other),
    }));
    let on = |name| config.has(name) == Some(true);
    // scripts/sign-file and extract-cert.
    if on("MODULE_SIG") || on("SYSTEM_TRUSTED_KEYRING") {
        needs.push(need("openssl/opensslv.h", "libssl-dev"));
    }
    if arch == Arch::X86 && (on("OBJTOOL") || on("UNWINDER_ORC") || on("STACK_VALIDATION")) {
        needs.push(need("gelf.h", "libelf-dev"));
    }
    if on("DEBUG_INFO_BTF") {
        needs.push(need("pahole", "pahole"));
    }
    if on("KERNEL_LZ4") || on("RD_LZ4") && on("KERNEL_LZ4") {
        needs.push(need("lz4", "lz4"));
    }
    if on("KERNEL_ZSTD") || on("MODULE_COMPRESS_ZSTD") {
        needs.push(need("zstd", "zstd"));
    }
    if on("KERNEL_XZ") || on("MODULE_COMPRESS_XZ") {
        needs.push(need("xz", "xz-utils"));
    }
    if on("IKHEADERS") {
        needs.push(need("cpio", "cpio"));
    }
    sentence(&needs, look)
}

fn configure(cross: &str) -> Vec<Need> {
    let compiler = format!("{cross}gcc");
    let package = match cross {
        "" => "gcc".to_owned(),
        _ => format!("gcc-{}", cross.trim_end_matches('-').replace('_', "-")),
    };
    let linker = match cross {
        "" => "binutils".to_owned(),
        _ => format!("binutils-{}", cross.trim_end_matches('-').replace('_', "-")),
    };
    vec![
        need("make", "make"),
        // Tools of the build run on this machine whatever the kernel is for.
        need("gcc", "gcc"),
        need("flex", "flex"),
        need("bison", "bison"),
        Need { what: compiler, package },
        Need { what: format!("{cross}ld"), package: linker },
    ]
}

fn need(what: &str, package: &str) -> Need {
    Need { what: what.into(), package: package.into() }
}

fn sentence(needs: &[Need], look: &dyn Inventory) -> Option<String> {
    let there = |need: &&Need| match need.what.ends_with(".h") {
        true => look.header(&need.what),
        false => look.program(&need.what),
    };
    let lacking: Vec<&Need> = needs.iter().filter(|need| !there(need)).collect();
    let unique = |of: fn(&Need) -> &str| {
        let mut seen: Vec<&str> = Vec::new();
        lacking.iter().map(|need| of(need)).for_each(|one| {
            if !seen.contains(&one) {
                seen.push(one);
            }
        });
        seen
    };
    let (what, packages) = (unique(|need| &need.what), unique(|need| &need.package));
    (!lacking.is_empty()).then(|| {
        format!(
            "{} {} missing; on Debian and Ubuntu: apt install {}",
            what.join(", "),
            if what.len() == 1 { "is" } else { "are" },
            packages.join(" ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Has(&'static [&'static str]);

    impl Inventory for Has {
        fn program(&self, name: &str) -> bool {
            self.0.contains(&name)
        }
        fn header(&self, path: &str) -> bool {
            self.0.contains(&path)
        }
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let few = Has(&["make", "gcc", "flex", "ld"]);
        assert_eq!(
            lacking_to_configure("", &few).unwrap(),
            "bison is missing; on Debian and Ubuntu: apt install bison"
        );
        let cross = lacking_to_configure("aarch64-linux-gnu-", &few).unwrap();
        assert!(cross.starts_with("bison, aarch64-linux-gnu-gcc, aarch64-linux-gnu-ld are missing"), "{cross}");
        assert!(cross.ends_with("apt install bison gcc-aarch64-linux-gnu binutils-aarch64-linux-gnu"), "{cross}");
        let x86 = lacking_to_configure("x86_64-linux-gnu-", &few).unwrap();
        assert!(x86.contains("gcc-x86-64-linux-gnu"), "{x86}");
    }

    #[test]
    fn what_is_needed_follows_from_the_configuration() {
        let all = Has(&["make", "gcc", "flex", "bison", "ld", "bc", "depmod", "tar", "sha256sum", "xz"]);
        let lacking = |text: &str| lacking_to_build(Arch::X86, "", &KernelConfig::parse("x", text), &["xz"], &all);
        assert_eq!(lacking("CONFIG_X86=y\n"), None);
        let both = lacking("CONFIG_MODULE_SIG=y\nCONFIG_OBJTOOL=y\n").unwrap();
        assert_eq!(
            both,
            "openssl/opensslv.h, gelf.h are missing; on Debian and Ubuntu: apt install libssl-dev libelf-dev"
        );
    }
}
