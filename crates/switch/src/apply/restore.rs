//! Puts back what differs from what there was.

use ontick_undo::Undone;

use super::{Act, Host, Refused};

pub(super) fn restore(differs: bool, host: &impl Host, acts: &[Act]) -> Result<Undone, Refused> {
    if !differs {
        return Ok(Undone::AlreadyAsBefore);
    }
    acts.iter().try_for_each(|act| host.act(act))?;
    Ok(Undone::Restored)
}
