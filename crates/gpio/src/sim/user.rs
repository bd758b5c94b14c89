//! Whose chips these are.

use std::sync::OnceLock;

static USER: OnceLock<u32> = OnceLock::new();

/// Root uses and makes the chips of this user from now on, who called it through sudo(8), say. Call it before any chip is
/// used; for others than root it changes nothing.
///
/// The user can cut such a chip's file short, which ends this process (SIGBUS): do it for the user's own sake alone.
pub fn act_for(user: u32) {
    if rustix::process::geteuid().is_root() {
        let _ = USER.set(user);
    }
}

/// The user whose chips this process uses.
pub(super) fn user() -> u32 {
    USER.get().copied().unwrap_or_else(|| rustix::process::geteuid().as_raw())
}
