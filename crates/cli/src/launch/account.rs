//! The user who called sudo.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;

/// A user to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Number of the user.
    pub user: u32,
    /// Number of its first group.
    pub group: u32,
    /// All its groups.
    pub groups: Vec<u32>,
    /// Its name.
    pub name: OsString,
    /// Its home folder.
    pub home: OsString,
    /// Its shell.
    pub shell: OsString,
}

impl Account {
    /// The user behind sudo; `None` where this process is not root, or was not called through sudo by another.
    pub fn behind_sudo() -> io::Result<Option<Self>> {
        calling_user().map(|(user, group)| Self::of(user, group)).transpose()
    }

    fn of(user: u32, group: u32) -> io::Result<Self> {
        let (name, home, shell) = entry(user)?;
        let groups = groups(&name, group);
        let text = |c: CString| OsString::from_vec(c.into_bytes());
        Ok(Self { user, group, groups, name: text(name), home: text(home), shell: text(shell) })
    }

    /// What the environment says of the user, and what of sudo's it must not say any more (`None`).
    pub fn environment(&self) -> Vec<(&'static str, Option<OsString>)> {
        vec![
            ("USER", Some(self.name.clone())),
            ("LOGNAME", Some(self.name.clone())),
            ("HOME", Some(self.home.clone())),
            ("SHELL", Some(self.shell.clone())),
            ("SUDO_UID", None),
            ("SUDO_GID", None),
            ("SUDO_USER", None),
            ("SUDO_COMMAND", None),
        ]
    }
}

/// Number and group of the user who called this through sudo(8); none where this process is not root, or root did.
pub fn calling_user() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    let (user, group) = (number("SUDO_UID")?, number("SUDO_GID")?);
    (user != 0 && rustix::process::geteuid().is_root()).then_some((user, group))
}

/// The number of that user.
pub fn sudo_user() -> Option<u32> {
    calling_user().map(|(user, _)| user)
}

/// Name, home and shell of a user.
fn entry(user: u32) -> io::Result<(CString, CString, CString)> {
    let mut text = vec![0; 16 << 10];
    // SAFETY: zero is a valid passwd; the buffer outlives every use of what points into it, and the strings
    // are copied before it goes.
    unsafe {
        let mut entry: libc::passwd = std::mem::zeroed();
        let mut found = std::ptr::null_mut();
        let error = libc::getpwuid_r(user, &mut entry, text.as_mut_ptr(), text.len(), &mut found);
        if found.is_null() {
            let why = if error == 0 {
                "it is not in the password file".into()
            } else {
                io::Error::from_raw_os_error(error).to_string()
            };
            return Err(io::Error::other(format!("user {user}, who called sudo, cannot be looked up: {why}")));
        }
        let copied = |text: *const libc::c_char| CStr::from_ptr(text).to_owned();
        Ok((copied(entry.pw_name), copied(entry.pw_dir), copied(entry.pw_shell)))
    }
}

fn groups(name: &CStr, group: u32) -> Vec<u32> {
    let mut groups = vec![0; 64];
    loop {
        let mut count = groups.len() as libc::c_int;
        // SAFETY: the name ends with a zero byte, and the call gets how many groups fit.
        let done = unsafe { libc::getgrouplist(name.as_ptr(), group, groups.as_mut_ptr(), &mut count) };
        if done >= 0 {
            groups.truncate(count.max(0) as usize);
            return groups;
        }
        if groups.len() > 65_536 {
            return vec![group];
        }
        groups.resize((count.max(0) as usize).max(groups.len() * 2), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_looked_up_with_its_groups() {
        let root = Account::of(0, 0).unwrap();
        assert_eq!(root.name, "root");
        assert!(root.groups.contains(&0) && !root.home.is_empty());
        assert!(Account::of(4_123_456_789, 0).unwrap_err().to_string().contains("4123456789"));
    }
}
