//! Filters at a port's hooks (clsact, tc(8)).

use std::ops::RangeInclusive;

use ontick_undo::Undone;
use serde_json::Value;

use super::host::parsed;
use super::qdiscs::qdiscs;
use super::restore::restore;
use super::{Act, Host, Refused};

/// Filters are asked in the order of their preference, which others may have taken up to here.
pub(crate) const FIRST_PREFERENCE: u16 = 40_000;
/// Where no preference is written, the kernel gives the last of these, or the one before the lowest that is there.
const KERNELS_PREFERENCES: RangeInclusive<u16> = 0xbf00..=0xc000;

/// Where filters are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Where frames come in.
    Ingress,
    /// Where they go out.
    Egress,
}

impl Hook {
    fn word(self) -> &'static str {
        match self {
            Hook::Ingress => "ingress",
            Hook::Egress => "egress",
        }
    }
}

/// Removes those that have one of these preferences.
pub(super) fn remove(host: &impl Host, port: &str, hook: Hook, preferences: &[u16]) -> Result<Undone, Refused> {
    let present = preferences_at(host, port, hook)?;
    let ours = preferences.iter().filter(|preference| present.contains(preference));
    let delete = |preference: &u16| Act::run(format!("tc filter del dev {port} {} pref {preference}", hook.word()));
    let acts: Vec<Act> = ours.map(delete).collect();
    restore(!acts.is_empty(), host, &acts)
}

/// Removes both hooks with the filters that are left there; where some are of others, those that are not.
pub(super) fn remove_hooks(host: &impl Host, port: &str) -> Result<Undone, Refused> {
    if !qdiscs(host, port)?.iter().any(|qdisc| qdisc["kind"] == "clsact") {
        return Ok(Undone::AlreadyAsBefore);
    }
    let (mut theirs, mut ours) = (0, Vec::new());
    for hook in [Hook::Ingress, Hook::Egress] {
        let present = preferences_at(host, port, hook)?;
        let (of_others, own): (Vec<u16>, Vec<u16>) =
            present.iter().partition(|preference| is_of_others(**preference, &present));
        theirs += of_others.len();
        ours.push((hook, own));
    }
    if theirs == 0 {
        return restore(true, host, &[Act::run(format!("tc qdisc del dev {port} clsact"))]);
    }
    for (hook, own) in ours {
        remove(host, port, hook, &own)?;
    }
    Ok(Undone::Superseded(format!("it holds filters that somebody else has set since: {theirs}")))
}

/// Whether ontick gives no filter this preference, beside those that are `present` at the hook.
fn is_of_others(preference: u16, present: &[u16]) -> bool {
    let is_given_by_kernel = KERNELS_PREFERENCES.contains(&preference);
    // So many streams may reach up to there.
    let is_reached = present.contains(&(KERNELS_PREFERENCES.start() - 1));
    preference < FIRST_PREFERENCE || (is_given_by_kernel && !is_reached)
}

fn filters_at(host: &impl Host, port: &str, hook: Hook) -> Result<Vec<Value>, Refused> {
    let argv = ["tc", "-j", "filter", "show", "dev", port, hook.word()];
    parsed(&argv, &host.query(&argv)?)
}

fn preference(filter: &Value) -> Option<u16> {
    u16::try_from(filter["pref"].as_u64()?).ok()
}

/// Preferences that filters have.
pub(crate) fn preferences_at(host: &impl Host, port: &str, hook: Hook) -> Result<Vec<u16>, Refused> {
    let mut all: Vec<u16> = filters_at(host, port, hook)?.iter().filter_map(preference).collect();
    all.dedup();
    Ok(all)
}

/// Preferences of filters at the way out that set a priority, each with that.
pub(crate) fn priorities_at(host: &impl Host, port: &str) -> Result<Vec<(u16, u8)>, Refused> {
    let set = |filter: &Value| {
        let edit = filter["options"]["actions"].as_array()?.iter().find(|action| action["kind"] == "skbedit")?;
        let minor = edit["priority"].as_str()?.rsplit(':').next()?;
        Some((preference(filter)?, u8::from_str_radix(minor, 16).ok()?))
    };
    Ok(filters_at(host, port, Hook::Egress)?.iter().filter_map(set).collect())
}

/// Preferences of filters at the way in that have actions, each with the lowest number of these.
pub(crate) fn policers_at(host: &impl Host, port: &str) -> Result<Vec<(u16, u32)>, Refused> {
    let one = |filter: &Value| {
        let actions = filter["options"]["actions"].as_array()?;
        let numbers = actions.iter().filter_map(|action| u32::try_from(action["index"].as_u64()?).ok());
        Some((preference(filter)?, numbers.min()?))
    };
    Ok(filters_at(host, port, Hook::Ingress)?.iter().filter_map(one).collect())
}

/// Stream gates of the filters at the way in: the number of each, and how many entries its list has.
pub(crate) fn stream_gates_at(host: &impl Host, port: &str) -> Result<Vec<(u32, usize)>, Refused> {
    let one = |action: &Value| Some((action["index"].as_u64()?.try_into().ok()?, action["schedule"].as_array()?.len()));
    let filters = filters_at(host, port, Hook::Ingress)?;
    let actions = filters.iter().filter_map(|filter| filter["options"]["actions"].as_array()).flatten();
    Ok(actions.filter_map(one).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::double::Double;
    use super::*;

    /// A port with filters at its way in and at its way out, and what is done to them.
    struct Hooks {
        present: [Vec<u16>; 2],
        acts: RefCell<Vec<String>>,
    }

    impl Double for Hooks {
        fn query(&self, argv: &[&str]) -> Result<String, Refused> {
            let place = match argv {
                ["tc", "-s", "-j", "qdisc", ..] => return Ok(r#"[{"kind":"clsact","handle":"ffff:"}]"#.into()),
                [.., "ingress"] => 0,
                [.., "egress"] => 1,
                other => panic!("{other:?}"),
            };
            let shown: Vec<String> = self.present[place].iter().map(|of| format!(r#"{{"pref":{of}}}"#)).collect();
            Ok(format!("[{}]", shown.join(",")))
        }

        fn act(&self, act: &Act) -> Result<(), Refused> {
            self.acts.borrow_mut().push(act.to_string());
            Ok(())
        }
    }

    #[test]
    fn hooks_stay_for_the_filters_that_others_have_set() {
        let removed = |ingress: &[u16], egress: &[u16]| {
            let host = Hooks { present: [ingress.to_vec(), egress.to_vec()], acts: RefCell::default() };
            (remove_hooks(&host, "p").unwrap(), host.acts.take())
        };
        let whole = (Undone::Restored, vec!["tc qdisc del dev p clsact".to_owned()]);
        let many: Vec<u16> = (40_000..49_500).collect();
        for ours in [&[40_000, 40_001, 65_535][..], &[], &[40_007], &many] {
            assert_eq!(removed(ours, &[40_000]), whole, "{ours:?}");
        }
        let left = Undone::Superseded("it holds filters that somebody else has set since: 1".into());
        let ours = vec!["tc filter del dev p ingress pref 40000".to_owned()];
        // Written by somebody, given by the kernel at a hook without other filters, and beside ontick's.
        assert_eq!(removed(&[40_000], &[7]), (left.clone(), ours.clone()));
        assert_eq!(removed(&[40_000], &[49_152]), (left.clone(), ours.clone()));
        assert_eq!(removed(&[39_999, 40_000], &[]), (left, ours));
    }
}
