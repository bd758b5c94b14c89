//! Settings of one's own: what is to be done about each, where it can be set and put back.

use super::{Item, State};
use crate::own_setting::{OwnSetting, lasting};
use crate::root::{Root, reason};
use crate::value_format::ValueFormat;

/// What they are called where knobs have their names.
pub const OWN: &str = "set";

/// The item of one, beside those before it. Its path is the one without links, so that the journal has one name for a file.
pub(super) fn item(root: &Root, setting: &OwnSetting, earlier: &[Item]) -> Item {
    let path = &root.real(&setting.path).unwrap_or_else(|_| setting.path.clone());
    let (mut form, mut current) = (ValueFormat::Words, String::new());
    let state = match looked_at(root, path) {
        Err(state) => state,
        Ok(shown) => {
            form = form_of(&shown, &setting.value);
            current = form.value(&shown);
            match earlier.iter().find(|item| sets(item) && is_same(root, &item.path, path)) {
                Some(item) if item.knob == OWN => State::Refused("it is set twice, by two names of one file".into()),
                Some(item) => State::Refused(format!("{} is about this file, too: leave one of them out", item.knob)),
                None if form.same(&setting.value, &shown) => State::AsWanted,
                None => State::Change,
            }
        }
    };
    Item {
        knob: OWN,
        path: path.clone(),
        form,
        current,
        wanted: setting.value.clone(),
        state,
        why: "the profile's file asks for it",
        source: "the profile's file",
    }
}

/// What a file shows that can be set and put back.
fn looked_at(root: &Root, path: &str) -> Result<String, State> {
    let refused = |why: &str| State::Refused(why.into());
    if !root.exists(path) {
        return Err(State::Absent("this machine does not have it".into()));
    }
    if !["/sys/", "/proc/sys/"].iter().any(|folder| path.starts_with(folder)) {
        return Err(State::Refused(format!("a link leads to {path}, which is not below /sys or /proc/sys")));
    }
    if let Some(why) = lasting(root, path) {
        return Err(State::Refused(why));
    }
    if !root.is_writable(path) {
        return Err(refused("it cannot be written"));
    }
    if !root.is_readable(path) {
        return Err(refused("it cannot be read, so it could not be put back"));
    }
    let shown = root.text(path).map_err(|e| State::Unreadable(reason(&e)))?;
    match shown.trim().lines().count() > 1 {
        true => Err(refused("it shows several lines, which could not be put back")),
        false => Ok(shown),
    }
}

/// A file that shows all its choices takes one of them.
fn form_of(shown: &str, wanted: &str) -> ValueFormat {
    let chosen = ValueFormat::Choice.value(shown);
    let choices = shown.split_whitespace().map(|word| word.trim_matches(['[', ']', '(', ')']));
    match chosen != shown.trim() && choices.into_iter().any(|choice| choice == wanted) {
        true => ValueFormat::Choice,
        false => ValueFormat::Words,
    }
}

/// Whether an item is about a value, not only about why there is none.
fn sets(item: &Item) -> bool {
    matches!(item.state, State::Change | State::AsWanted | State::NeedsIsolate)
}

/// Whether a path leads to a file, which is named without links.
fn is_same(root: &Root, path: &str, own: &str) -> bool {
    path == own || path.starts_with('/') && root.real(path).is_ok_and(|real| real == own)
}
