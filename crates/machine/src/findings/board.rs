//! Raspberry Pi and PCI Express.

use super::{Check, CheckInput, Observation, Remedy, US};
use crate::facts::board::Pi;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "pi-throttling",
        why: "with too little voltage or too much heat the firmware clocks the processor down, whatever the kernel says",
        source: "Raspberry Pi documentation: vcgencmd get_throttled, monitoring voltage and temperature",
        look: |look| on_pi(look, |_, pi| Some(throttling(pi))),
    },
    Check {
        id: "pi-turbo",
        why: "the firmware moves the core clock with the load, and with it the clocks of SPI and the mini UART",
        source: "source 000: turbo off, or the SPI clock changes with it; Raspberry Pi documentation: force_turbo",
        look: |look| {
            on_pi(look, |_, pi| {
                let boost = if pi.config.get("arm_boost") == Some("1") { ", arm_boost=1" } else { "" };
                Some(match (pi.config.get("force_turbo"), pi.config_file.is_empty()) {
                    (_, true) => Observation::unknown("config.txt was not found", "force_turbo=1")
                        .now("mount the boot partition"),
                    (Some("1"), _) => Observation::ok(format!("force_turbo=1{boost}")),
                    (other, _) => {
                        Observation::warn(format!("force_turbo={}{boost}", other.unwrap_or("0")), "force_turbo=1")
                            .boot(Remedy::at_boot("config.txt"))
                    }
                })
            })
        },
    },
    Check {
        id: "pi-usb",
        why: "the USB controller of a Raspberry Pi 1 to 3 interrupts 8000 times a second; its fast interrupt bypasses the kernel",
        source: "Raspberry Pi kernel: drivers/usb/host/dwc_otg (fiq_enable, fiq_fsm_enable)",
        look: |look| on_pi(look, usb),
    },
    Check {
        id: "pi-sd-card",
        why: "the old SD driver's low-latency mode held interrupts off; the option went away with that driver",
        source: "source 004 (sdhci_bcm2708.enable_llm=0 on a 3.x kernel)",
        look: |look| {
            on_pi(look, |look, _| {
                let given = look.facts.arguments.get("sdhci_bcm2708.enable_llm");
                match (look.facts.kernel.at_least(4, 0), given) {
                    (true, Some(_)) => Some(Observation::warn(
                        "sdhci_bcm2708.enable_llm is given, but this kernel has no such driver",
                        "nothing",
                    )),
                    (false, None | Some("1")) => {
                        Some(Observation::warn("low-latency mode is on", "off").boot("sdhci_bcm2708.enable_llm=0"))
                    }
                    (false, Some(_)) => Some(Observation::ok("low-latency mode is off")),
                    (true, None) => None,
                }
            })
        },
    },
    Check {
        id: "pi-word-size",
        why: "a 64-bit kernel reads its clock without a system call and has PREEMPT_RT configurations ready",
        source: "Raspberry Pi documentation: arm_64bit",
        look: |look| {
            on_pi(look, |look, pi| match look.facts.kernel.architecture.as_str() {
                "aarch64" => Some(Observation::ok("64-bit kernel")),
                "" => None,
                arch if pi.generation >= 3 => Some(
                    Observation::warn(format!("32-bit kernel ({arch})"), "64-bit, where no 32-bit driver is needed")
                        .boot("arm_64bit=1 in config.txt, with a 64-bit system"),
                ),
                arch => Some(Observation::ok(format!("32-bit kernel ({arch}), as this board needs"))),
            })
        },
    },
    Check {
        id: "pcie-power",
        why: "a PCI Express link that sleeps takes some µs to wake; on a Raspberry Pi 5 every GPIO access crosses one",
        source: "measured on another machine: a GPIO read on a Pi 5 takes 0.4 µs and more, worse when the link sleeps; kernel: power/pci",
        look: |look| match (look.facts.board.pcie_power.as_str(), look.facts.board.raspberry_pi.as_ref()) {
            (_, Some(pi)) if pi.generation < 4 => Vec::new(),
            ("", _) => Vec::new(),
            ("performance", _) => Observation::ok("links stay awake").only(),
            (policy, _) => Observation::warn(format!("policy {policy}"), "performance")
                .costs_elsewhere(10 * US)
                .knob("pcie-power")
                .boot("pcie_aspm.policy=performance")
                .only(),
        },
    },
];

fn on_pi(look: &CheckInput, see: fn(&CheckInput, &Pi) -> Option<Observation>) -> Vec<Observation> {
    look.facts.board.raspberry_pi.as_ref().and_then(|pi| see(look, pi)).into_iter().collect()
}

fn throttling(pi: &Pi) -> Observation {
    let Some(flags) = pi.throttled else {
        return Observation::unknown("the firmware's flags cannot be read here", "0x0").now("vcgencmd get_throttled");
    };
    let names = [(0, "under-voltage"), (1, "frequency capped"), (2, "throttled"), (3, "soft temperature limit")];
    let set = |shift: u32| {
        names.iter().filter(|(bit, _)| flags & (1 << (bit + shift)) != 0).map(|(_, n)| *n).collect::<Vec<_>>()
    };
    let (now, before) = (set(0), set(16));
    match (now.is_empty(), before.is_empty()) {
        (false, _) => {
            Observation::bad(format!("now: {}", now.join(", ")), "none").now("a better power supply, or a cooler")
        }
        (_, false) => Observation::warn(format!("since boot: {}", before.join(", ")), "none")
            .now("a better power supply, or a cooler"),
        _ => Observation::ok("none since boot"),
    }
}

fn usb(look: &CheckInput, pi: &Pi) -> Option<Observation> {
    if pi.generation > 3 || pi.generation == 0 && look.facts.cpus.online.is_empty() {
        return None;
    }
    let arguments = &look.facts.arguments;
    let fast = arguments.get("dwc_otg.fiq_fsm_enable") != Some("0") && arguments.get("dwc_otg.fiq_enable") != Some("0");
    // With PREEMPT_RT the fast interrupt is known to lock the machine up.
    let rt = look.facts.kernel.preemption == crate::facts::Preemption::Rt;
    let mainline =
        look.facts.interrupts.list.iter().any(|i| i.about.contains("dwc2")) || pi.config.has("dtoverlay", "dwc2");
    Some(match (mainline, rt, fast) {
        (true, _, _) => Observation::ok("the dwc2 driver, which uses no fast interrupt"),
        (_, true, true) => Observation::warn("dwc_otg uses the fast interrupt on a PREEMPT_RT kernel", "off")
            .boot("dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0 on the kernel's command line"),
        (_, _, true) => Observation::ok("the fast interrupt takes 8000 interrupts a second off the kernel"),
        (_, _, false) => Observation::warn(
            "without the fast interrupt the kernel handles 8000 interrupts a second",
            "the fast interrupt on, or USB unused",
        )
        .costs_elsewhere(20 * US),
    })
}
