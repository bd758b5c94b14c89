//! Frames of switches, stage by stage.

use ontick_record::openmetrics::{Exposition, Kind, Labels};
use ontick_report::datapath::{PathPort, Stage};

use crate::switches::{SwitchNow, Switches};

/// The families of all switches; none where there is no switch.
pub fn families(switches: &Switches) -> Exposition {
    let mut out = Exposition::with_prefix("ontick_switch_");
    let switches = &switches.switches;
    if switches.is_empty() {
        return out;
    }
    let help = "1 where a switch does what it was set up for.";
    let family = out.family("working", Kind::Gauge, help);
    for switch in switches {
        family.sample(&of(switch).and("plane", switch.plane), u8::from(switch.fine));
    }
    let family = out.family("port_up", Kind::Gauge, "1 where a port has a link.");
    for (switch, port) in ports(switches) {
        family.sample(&of(switch).and("port", &port.name), u8::from(port.link == "up"));
    }
    let family = out.family("frames", Kind::Counter, "Frames that left a stage of a port.");
    for (switch, port) in ports(switches) {
        stages(switch, port, |labels, stage| family.sample(labels, stage.out));
    }
    let family = out.family("dropped_frames", Kind::Counter, "Frames that were dropped at a stage of a port.");
    for (switch, port) in ports(switches) {
        stages(switch, port, |labels, stage| family.sample(labels, stage.gone()));
    }
    let family = out.family("waiting_frames", Kind::Gauge, "Frames that wait for their gate.");
    for (switch, port) in ports(switches) {
        for class in &port.classes {
            family.sample(&of(switch).and("port", &port.name).and("class", &class.name), class.queue.waiting);
        }
    }
    out
}

fn of(switch: &SwitchNow) -> Labels {
    Labels::new(&[("switch", &switch.name)])
}

fn ports(switches: &[SwitchNow]) -> impl Iterator<Item = (&SwitchNow, &PathPort)> {
    switches.iter().flat_map(|switch| switch.path.ports.iter().map(move |port| (switch, port)))
}

/// Each stage with its labels. A frame that comes in has no class yet.
fn stages(switch: &SwitchNow, port: &PathPort, mut each: impl FnMut(&Labels, &Stage)) {
    let labels = of(switch).and("port", &port.name);
    each(&labels.and("stage", "ingress"), &port.ingress);
    for class in &port.classes {
        let labels = labels.and("class", &class.name);
        class.stages().into_iter().for_each(|(name, stage)| each(&labels.and("stage", name), stage));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switches::tests::switch;

    #[test]
    fn each_stage_of_each_port_has_its_figures() {
        let all = Switches { switches: vec![switch(12)], unknown: Vec::new() };
        let text = families(&all).finish();
        for line in [
            "ontick_switch_working{switch=\"cell\",plane=\"user\"} 1\n",
            "ontick_switch_port_up{switch=\"cell\",port=\"swp1\"} 1\n",
            "ontick_switch_frames_total{switch=\"cell\",port=\"swp1\",stage=\"ingress\"} 12\n",
            "ontick_switch_frames_total{switch=\"cell\",port=\"swp1\",class=\"blue\",stage=\"gate\"} 12\n",
            "ontick_switch_dropped_frames_total{switch=\"cell\",port=\"swp1\",class=\"blue\",stage=\"queue\"} 7\n",
            "ontick_switch_dropped_frames_total{switch=\"cell\",port=\"swp1\",class=\"blue\",stage=\"egress\"} 3\n",
            "ontick_switch_waiting_frames{switch=\"cell\",port=\"swp1\",class=\"blue\"} 2\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert_eq!(families(&Switches::default()).finish(), "# EOF\n");
    }
}
