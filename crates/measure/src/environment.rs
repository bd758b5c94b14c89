//! What machine this is, for the record.

use std::fs;

use ontick_record::Environment;
use ontick_rt::cpus;

/// Looks at this machine; the governor is the one of `cpu`.
pub fn look(cpu: Option<u32>) -> Environment {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let cpuinfo = read("/proc/cpuinfo");
    let build = text(uname.version());
    Environment {
        machine: machine(),
        processor: processor(&cpuinfo),
        architecture: text(uname.machine()),
        system: pretty_name(&read("/etc/os-release")),
        kernel: text(uname.release()),
        preemption: preemption(&build, &read("/sys/kernel/debug/sched/preempt"), &kernel_configuration()),
        kernel_build: build,
        cpus_online: cpus::online().len() as u32,
        isolated: read("/sys/devices/system/cpu/isolated"),
        nohz_full: Some(read("/sys/devices/system/cpu/nohz_full")).filter(|t| t != "(null)").unwrap_or_default(),
        governor: read(&format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu.unwrap_or(0))),
        clocksource: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        tick_hz: tick_hz(&kernel_configuration()),
        hypervisor: hypervisor(&cpuinfo),
        rt_throttling: format!(
            "{} / {}",
            read("/proc/sys/kernel/sched_rt_runtime_us"),
            read("/proc/sys/kernel/sched_rt_period_us")
        ),
        kernel_arguments: read("/proc/cmdline"),
    }
}

/// A small file's text without white space around it; empty if it cannot be read.
fn read(path: &str) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\0']).trim().to_string())
        .unwrap_or_default()
}

/// The device tree's model on boards, the product name on PCs and virtual machines.
fn machine() -> String {
    let product = || {
        let vendor = read("/sys/class/dmi/id/sys_vendor");
        format!("{vendor} {}", read("/sys/class/dmi/id/product_name")).trim().to_string()
    };
    Some(read("/proc/device-tree/model")).filter(|model| !model.is_empty()).unwrap_or_else(product)
}

fn processor(cpuinfo: &str) -> String {
    field(cpuinfo, "model name").or_else(|| field(cpuinfo, "Hardware")).unwrap_or_default().to_string()
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn pretty_name(os_release: &str) -> String {
    let line = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    line.unwrap_or_default().trim_matches('"').to_string()
}

/// The model in force: the build says RT, debugfs or the boot argument the dynamic choice, the
/// configuration the rest.
fn preemption(build: &str, debugfs: &str, configuration: &str) -> String {
    if build.contains("PREEMPT_RT") {
        return "PREEMPT_RT".into();
    }
    if let Some(chosen) = debugfs.split_whitespace().find_map(|w| w.strip_prefix('(')?.strip_suffix(')')) {
        return chosen.into();
    }
    let argument = read("/proc/cmdline").split_whitespace().find_map(|a| a.strip_prefix("preempt=").map(String::from));
    let configured = [
        ("CONFIG_PREEMPT_LAZY=y", "lazy"),
        ("CONFIG_PREEMPT=y", "full"),
        ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
        ("CONFIG_PREEMPT_NONE=y", "none"),
    ]
    .into_iter()
    .find(|(option, _)| configuration.lines().any(|line| line == *option))
    .map(|(_, name)| name.to_string());
    argument.or(configured).unwrap_or_else(|| {
        if build.contains("PREEMPT_DYNAMIC") {
            "dynamic"
        } else if build.contains("PREEMPT") {
            "full"
        } else {
            "unknown"
        }
        .into()
    })
}

fn tick_hz(configuration: &str) -> Option<u32> {
    configuration.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok())
}

/// The options that matter here, from the file that the distribution installs; empty where there is none.
pub(crate) fn kernel_configuration() -> String {
    read(&format!("/boot/config-{}", rustix::system::uname().release().to_string_lossy()))
}

fn hypervisor(cpuinfo: &str) -> String {
    let named = read("/sys/hypervisor/type");
    if !named.is_empty() {
        return named;
    }
    let virtual_cpu =
        cpuinfo.lines().any(|l| l.starts_with("flags") && l.split_whitespace().any(|f| f == "hypervisor"));
    let product = machine().to_lowercase();
    let known =
        [("qemu", "QEMU"), ("kvm", "KVM"), ("vmware", "VMware"), ("virtualbox", "VirtualBox"), ("hyper-v", "Hyper-V")];
    match known.iter().find(|(word, _)| product.contains(word)) {
        Some((_, name)) => (*name).into(),
        None if virtual_cpu => "unknown".into(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preemption_model_is_told_from_the_best_witness() {
        assert_eq!(preemption("#1 SMP PREEMPT_RT Debian 6.12", "none (full)", ""), "PREEMPT_RT");
        assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC", "none voluntary (full)", ""), "full");
        assert_eq!(preemption("#1 SMP PREEMPT", "", "CONFIG_PREEMPT=y\nCONFIG_HZ=250"), "full");
        assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC", "", "CONFIG_PREEMPT_VOLUNTARY=y"), "voluntary");
        assert_eq!(preemption("#1 SMP", "", ""), "unknown");
    }

    #[test]
    fn names_are_found_in_their_files() {
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n"), "Some Linux 12");
        assert_eq!(processor("processor\t: 0\nmodel name\t: A CPU @ 1GHz\n"), "A CPU @ 1GHz");
        assert_eq!(tick_hz("CONFIG_HZ_250=y\nCONFIG_HZ=250\n"), Some(250));
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_cpu() {
        let here = look(None);
        assert!(!here.kernel.is_empty() && here.cpus_online > 0 && !here.preemption.is_empty(), "{here:?}");
    }
}
