//! Frame preemption (IEEE 802.1Q-2022 clause 6.7.2, IEEE 802.3-2022 clause 99) by the port: its MAC Merge sublayer, and which
//! traffic classes are preemptible.

use ontick_tsn::model::{Port, STANDARD_CLASSES};

use super::found::PortState;
use super::priority_map::Lanes;
use super::{probe, release};
use crate::apply::{Act, Expect, Host, Iface, Step, Undo};
use crate::ethtool::mac_merge::Settings;

/// The first kernel whose queueing disciplines know preemptible classes; earlier ones leave the attribute out in silence.
const SINCE: (u32, u32) = (6, 4);

/// Sets the port's MAC Merge sublayer; none where the file does not ask for that.
pub(super) fn step(host: &impl Host, found: &PortState) -> Result<Option<Step>, String> {
    let Some(preemption) = &found.port.preemption else { return Ok(None) };
    let name = found.port.name.as_str();
    let refuse = |why: String| format!("port {name}: {why}: leave [port.preemption] out there");
    // Worst first: what no other setting of this machine mends.
    let state = host.mac_merge(name).map_err(|refused| refuse(missing(&refused.why)))?;
    let (major, minor) = release(host);
    if (major, minor) < SINCE {
        return Err(refuse(format!("Linux {major}.{minor} knows no preemptible classes (Linux 6.4 does)")));
    }
    if !probe::tc_knows_preemption(host) {
        return Err(refuse("this tc(8) knows no preemptible classes (iproute2 6.4 does)".into()));
    }
    let classes = found.port.max_sdu.len();
    if classes > STANDARD_CLASSES {
        return Err(refuse(format!(
            "{classes} classes, and hardware has the {STANDARD_CLASSES} of IEEE 802.1Q at most"
        )));
    }
    if found.port.gates.is_none() && found.port.is_shaped() {
        return Err(refuse("mqprio does not count what frames occupy on the wire, as an idle-slope needs it".into()));
    }
    if preemption.verify && preemption.verify_time_ms > state.max_verify_time_ms {
        return Err(format!(
            "port {name}: verify-time is {} ms, and the port waits {} ms at most: lower it",
            preemption.verify_time_ms, state.max_verify_time_ms
        ));
    }
    let wanted = Settings {
        pmac_enabled: true,
        tx_enabled: true,
        verify_enabled: preemption.verify,
        // Nobody waits where nobody asks.
        verify_time_ms: if preemption.verify { preemption.verify_time_ms } else { state.settings.verify_time_ms },
        tx_min_frag_size: preemption.min_fragment_size,
    };
    let port = Iface::from(found.link);
    let step = Step::of(name, "frame preemption")
        .undo(Undo::MacMerge { port, was: state.settings })
        .act(Act::MacMerge { port: name.into(), wanted })
        .expect(Expect::MacMerge { port: name.into(), wanted });
    Ok(Some(step))
}

/// That a port does not preempt frames, and why.
pub fn missing(why: &str) -> String {
    format!("frame preemption takes a MAC Merge sublayer (IEEE 802.3 clause 99), and {why}")
}

/// Whether frames of each traffic class are preempted; empty where none of the port are.
pub(super) fn by_traffic_class(port: &Port, lanes: &Lanes) -> Vec<bool> {
    let of = |preemption: &ontick_tsn::model::Preemption| {
        lanes.lanes.iter().map(|lane| preemption.is_preemptible(lane.class)).collect()
    };
    port.preemption.as_ref().map(of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ontick_undo::Undone;

    use super::*;
    use crate::apply::double::Double;
    use crate::apply::{Refused, differences};
    use crate::ethtool::mac_merge::{State, VerifyStatus};
    use crate::features::Features;

    const OFF: Settings = Settings {
        pmac_enabled: true,
        tx_enabled: false,
        verify_enabled: false,
        verify_time_ms: 20,
        tx_min_frag_size: 124,
    };
    const ON: Settings = Settings {
        pmac_enabled: true,
        tx_enabled: true,
        verify_enabled: true,
        verify_time_ms: 10,
        tx_min_frag_size: 60,
    };

    /// A port that preempts frames, and refuses a change or dies with it.
    struct Card {
        is: Cell<Settings>,
        index: u32,
        refuses: bool,
    }

    impl Card {
        fn new(is: Settings) -> Self {
            Self { is: Cell::new(is), index: 3, refuses: false }
        }
    }

    impl Double for Card {
        fn query(&self, _: &[&str]) -> Result<String, Refused> {
            Ok(format!(r#"[{{"ifindex":{},"ifname":"b","flags":["UP"],"mtu":1500,"link_type":"ether"}}]"#, self.index))
        }

        fn try_out(&self, _: &[&str], _: &str) -> Result<String, Refused> {
            Ok(String::new())
        }

        fn read(&self, _: &str) -> Option<String> {
            None
        }

        fn features(&self, _: &str) -> Result<Features, Refused> {
            Ok(Features::new())
        }

        fn mac_merge(&self, _: &str) -> Result<State, Refused> {
            Ok(State {
                settings: self.is.get(),
                tx_active: false,
                verify_status: VerifyStatus::Initial,
                max_verify_time_ms: 128,
                rx_min_frag_size: 60,
            })
        }

        fn act(&self, act: &Act) -> Result<(), Refused> {
            match act {
                Act::MacMerge { wanted, .. } if !self.refuses => self.is.set(*wanted),
                other => return Err(Refused { what: other.to_string(), why: "Invalid argument".into() }),
            }
            Ok(())
        }
    }

    fn undo() -> Undo {
        Undo::MacMerge { port: Iface::made("b", 3), was: OFF }
    }

    /// The step may have been done, or not, or the port changed by another since.
    #[test]
    fn it_is_undone_exactly_from_wherever_it_stands() {
        let half = Settings { verify_enabled: false, ..ON };
        for is in [ON, half] {
            let card = Card::new(is);
            assert_eq!((undo().carry_out(&card), card.is.get()), (Undone::Restored, OFF));
            assert_eq!((undo().carry_out(&card), card.is.get()), (Undone::AlreadyAsBefore, OFF));
        }
        let refuses = Card { refuses: true, ..Card::new(ON) };
        let Undone::Refused(why) = undo().carry_out(&refuses) else { panic!("it was not refused") };
        assert!(why.starts_with("`ethtool --set-mm b pmac-enabled on tx-enabled off"), "{why}");
        // Another interface of the name is not it.
        let another = Card { index: 4, ..Card::new(ON) };
        assert_eq!((undo().carry_out(&another), another.is.get()), (Undone::Gone, ON));
    }

    #[test]
    fn what_another_program_changed_is_named() {
        let expect = Expect::MacMerge { port: "b".into(), wanted: ON };
        assert!(differences(&Card::new(ON), [&expect]).is_empty());
        let other = differences(&Card::new(Settings { tx_enabled: false, ..ON }), [&expect]);
        let said = "b preempts frames otherwise (pmac-enabled on tx-enabled off tx-min-frag-size 60 verify-enabled on \
                    verify-time 10)";
        assert_eq!(other.iter().map(ToString::to_string).collect::<Vec<_>>(), [said]);
    }

    /// A journal is read by later versions, too.
    #[test]
    fn it_has_a_form_in_the_journal() {
        let text = r#"{"undo":"mac_merge","port":{"name":"b","index":3},"was":{"pmac_enabled":true,"tx_enabled":false,"verify_enabled":false,"verify_time_ms":20,"tx_min_frag_size":124}}"#;
        assert_eq!(serde_json::to_string(&undo()).unwrap(), text);
        assert_eq!(serde_json::from_str::<Undo>(text).unwrap(), undo());
    }
}
