//! The processor's name. ARM kernels print numbers where others print a name.

/// The name, as well as the machine tells it; empty where it does not.
pub(super) fn name(of_tree: &str, cpuinfo: &str) -> String {
    let fields = || cpuinfo.lines().filter_map(|l| l.split_once(':')).map(|(name, value)| (name.trim(), value.trim()));
    let first = |name: &str| fields().find(|(n, _)| *n == name).map(|(_, value)| value.to_owned());
    let cores = cores(fields());
    if !cores.is_empty() {
        return cores.join(" + ");
    }
    // As "ARMv7 Processor rev 4" says less than the device tree does.
    let tree = || first("model name").is_none_or(|name| name.starts_with("ARM")).then(|| written(of_tree)).flatten();
    tree()
        .or_else(|| first("model name"))
        .or_else(|| ["uarch", "cpu model", "cpu", "Hardware"].into_iter().find_map(first))
        .unwrap_or_default()
}

/// The kinds of cores in the order in which they come, by the numbers in each processor's paragraph.
fn cores<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let hex = |value: &str| u32::from_str_radix(value.trim_start_matches("0x"), 16).ok();
    let (mut implementer, mut seen) = (None, Vec::new());
    for (name, value) in fields {
        match name {
            "CPU implementer" => implementer = hex(value),
            "CPU part" => seen.extend(implementer.zip(hex(value)).map(|(maker, part)| core(maker, part))),
            _ => {}
        }
    }
    let mut kinds: Vec<String> = Vec::new();
    for core in seen {
        if !kinds.contains(&core) {
            kinds.push(core);
        }
    }
    kinds
}

/// Implementer and part of the main ID register (Arm Architecture Reference Manual, MIDR).
fn core(implementer: u32, part: u32) -> String {
    let known = match (implementer, part) {
        (0x41, 0xb76) => "ARM1176",
        (0x41, 0xc05) => "Cortex-A5",
        (0x41, 0xc07) => "Cortex-A7",
        (0x41, 0xc08) => "Cortex-A8",
        (0x41, 0xc09) => "Cortex-A9",
        (0x41, 0xc0f) => "Cortex-A15",
        (0x41, 0xd03) => "Cortex-A53",
        (0x41, 0xd04) => "Cortex-A35",
        (0x41, 0xd05) => "Cortex-A55",
        (0x41, 0xd07) => "Cortex-A57",
        (0x41, 0xd08) => "Cortex-A72",
        (0x41, 0xd09) => "Cortex-A73",
        (0x41, 0xd0a) => "Cortex-A75",
        (0x41, 0xd0b) => "Cortex-A76",
        (0x41, 0xd0c) => "Neoverse-N1",
        (0x41, 0xd0d) => "Cortex-A77",
        (0x41, 0xd40) => "Neoverse-V1",
        (0x41, 0xd41) => "Cortex-A78",
        (0x41, 0xd44) => "Cortex-X1",
        (0x41, 0xd49) => "Neoverse-N2",
        (0x41, 0xd4f) => "Neoverse-V2",
        (0xc0, 0xac3) => "Ampere-1",
        _ => return format!("ARM core {part:#x} of implementer {implementer:#x}"),
    };
    known.into()
}

/// `arm,cortex-a72` in the device tree is a Cortex-A72.
fn written(compatible: &str) -> Option<String> {
    let name = compatible.split(' ').next()?.split_once(',')?.1;
    let (family, model) = name.split_once('-')?;
    let capital = |word: &str| word.get(..1).map(|first| first.to_uppercase() + &word[1..]);
    Some(format!("{}-{}", capital(family)?, capital(model)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(cpuinfo: &str, of_tree: &str) -> String {
        name(of_tree, cpuinfo)
    }

    fn core(implementer: &str, part: &str) -> String {
        format!("processor\t: 0\nBogoMIPS\t: 108.00\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n\n")
    }

    #[test]
    fn numbers_become_names() {
        let pi4 = core("0x41", "0xd08").repeat(4) + "Hardware\t: BCM2835\nModel\t\t: Raspberry Pi 4 Model B Rev 1.1\n";
        assert_eq!(named(&pi4, ""), "Cortex-A72");
        let little_and_big = core("0x41", "0xd05").repeat(4) + &core("0x41", "0xd0b").repeat(4);
        assert_eq!(named(&little_and_big, ""), "Cortex-A55 + Cortex-A76");
        assert_eq!(named(&core("0x61", "0x22"), ""), "ARM core 0x22 of implementer 0x61");
    }

    #[test]
    fn a_32_bit_kernel_names_no_more_than_the_architecture() {
        let pi3 = format!("model name\t: ARMv7 Processor rev 4 (v7l)\n{}", core("0x41", "0xd03"));
        assert_eq!(named(&pi3, ""), "Cortex-A53");
        assert_eq!(named("model name\t: ARMv7 Processor rev 2 (v7l)\n", "arm,cortex-a8"), "Cortex-A8");
        assert_eq!(named("model name\t: ARMv7 Processor rev 2 (v7l)\n", ""), "ARMv7 Processor rev 2 (v7l)");
    }

    #[test]
    fn others_have_names_already_or_none() {
        assert_eq!(named("vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n", ""), "AMD EPYC");
        assert_eq!(named("processor\t: 0\nuarch\t\t: sifive,u74-mc\n", ""), "sifive,u74-mc");
        assert_eq!((named("", ""), named("CPU part\t: zz\n", ",- é")), (String::new(), String::new()));
    }
}
