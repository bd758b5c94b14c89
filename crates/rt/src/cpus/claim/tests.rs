//! Claims beside those of others, in folders of their own.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use rustix::fs::{FlockOperation, flock};

use super::Occupancy::{Rests, Spins};
use super::locks::{READINGS, has_lock, living_by};
use super::registry::{LOCK, home, home_of, open, roots};
use super::*;

fn held(cpu: u32, occupancy: Occupancy) -> Holder {
    Holder { cpu, pid: 4_000_000 + cpu, occupancy }
}

#[test]
fn a_cpu_with_a_loop_that_spins_is_nobody_elses() {
    let holders = [held(3, Spins), held(2, Rests)];
    let online = [0, 1, 2, 3];
    let free = |cpu, occupancy| is_free(cpu, occupancy, &holders, &online);
    assert_eq!(free(3, Rests), Err(ClaimError::By(held(3, Spins))));
    assert_eq!(free(3, Spins), Err(ClaimError::By(held(3, Spins))));
    assert_eq!((free(2, Rests), free(2, Spins)), (Ok(()), Err(ClaimError::By(held(2, Rests)))));
    assert_eq!(free(1, Spins), Ok(()));
    let said = free(3, Rests).unwrap_err().to_string();
    assert_eq!(said, "CPU 3 is held by process 4000003: name another CPU, or end that first");
}

#[test]
fn one_cpu_is_left_to_everything_else() {
    let holders = [held(0, Spins)];
    let refused = is_free(1, Spins, &holders, &[0, 1]).unwrap_err();
    assert_eq!(refused, ClaimError::LastOne { cpu: 1, beside: vec![held(0, Spins)] });
    assert!(refused.to_string().contains("CPU 0 is held by process 4000000"), "{refused}");
    assert_eq!(is_free(1, Rests, &holders, &[0, 1]), Ok(()));
    assert!(is_free(0, Spins, &[], &[0]).is_err());
}

#[test]
fn what_nobody_holds_comes_first_then_what_can_be_shared() {
    let holders = [held(3, Spins), held(2, Rests)];
    let online = [0, 1, 2, 3];
    assert_eq!(free(Spins, &holders, &online, &online), [0, 1]);
    assert_eq!(free(Rests, &holders, &online, &online), [0, 1]);
    assert_eq!(free(Rests, &holders, &[2, 3], &online), [2]);
    assert_eq!(free(Rests, &holders, &[3], &online), [3]);
}

/// Another process cannot be had here, but a lock that another description of the file holds is the same.
#[test]
fn a_claim_is_there_for_others_and_theirs_is_respected() {
    let home = home().unwrap();
    let place = |holder: &Holder| home.join(FOLDER).join(holder.file_name());
    // No other test of this process claims anything by these numbers.
    let (own, other) =
        (Holder { cpu: 901, pid: std::process::id(), occupancy: Rests }, Holder { pid: 1, ..held(902, Spins) });
    let claims = [claim(own.cpu, Rests).unwrap(), claim(own.cpu, Rests).unwrap()];
    let file = open(&place(&own), false).unwrap();
    assert!(flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(), "others find it locked");
    assert_eq!(holders(), [], "one's own is no hindrance");
    let theirs = open(&place(&other), true).unwrap();
    flock(&theirs, FlockOperation::LockExclusive).unwrap();
    assert_eq!(holders(), std::slice::from_ref(&other));
    assert_eq!(claim(other.cpu, Rests).unwrap_err(), ClaimError::By(other.clone()));
    drop(theirs);
    assert!(claim(other.cpu, Rests).is_ok());
    assert_eq!(holders(), []);
    let [first, second] = claims;
    drop(first);
    assert!(place(&own).exists(), "the other claim is there still");
    drop(second);
    assert!(!place(&own).exists(), "the CPU is free");
    drop(file);
    claim(own.cpu, Rests).unwrap().keep();
    assert!(place(&own).exists());
    fs::remove_dir_all(&home).unwrap();
}

#[test]
fn whoever_is_not_root_sees_roots_claims_by_their_locks() {
    assert_eq!(roots(true), None);
    assert_eq!(roots(false).unwrap(), Path::new("/run/ontick/cpus"));
    let home = std::env::temp_dir().join(format!("ontick-claims-beside-{}", std::process::id()));
    let (registry, roots) = (Registry::at(&home).unwrap(), home.join("roots"));
    fs::create_dir(&roots).unwrap();
    // The first process is always there; it has the number of one that was killed.
    let (lives, killed) = (Holder { pid: 1, ..held(3, Spins) }, Holder { pid: 1, ..held(4, Spins) });
    let files = [&lives, &killed].map(|holder| open(&roots.join(holder.file_name()), true).unwrap());
    flock(&files[0], FlockOperation::LockExclusive).unwrap();
    assert_eq!((registry.holders_and(Some(&roots)), registry.holders_and(None)), (vec![lives], vec![]));
    drop(registry);
    assert!(Registry::at(&home).is_some(), "a folder that is there already is as good");
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_lock_is_found_among_those_of_the_machine() {
    let locks = "1: POSIX  ADVISORY  WRITE 41 00:1a:7 0 EOF\n2: FLOCK  ADVISORY  WRITE 42 00:1a:70 0 EOF\n\
                 2: -> FLOCK  ADVISORY  WRITE 43 00:1a:71 0 EOF\n3: FLOCK  ADVISORY  READ 44 fd:01:72 0 EOF\n\
                 4: FLOCK  ADVISORY  WRITE 45 <none>:0 0 EOF\n5: FLOCK\n6: FLOCK  ADVISORY  WRITE 46 103:02:73 0 EOF\n";
    let device = rustix::fs::makedev(0, 0x1a);
    assert!(has_lock(locks, 42, device, 70));
    assert!(has_lock(locks, 7, device, 70), "a number in another namespace");
    assert!(has_lock(locks, 42, 1, 70), "the device of a subvolume");
    assert!(!has_lock(locks, 7, 1, 70));
    assert!((7..80).filter(|inode| has_lock(locks, 7, device, *inode)).eq([70]));
    assert!(has_lock(locks, 7, rustix::fs::makedev(0x103, 2), 73));
}

/// As where another lock went between two pages of the list.
#[test]
fn a_lock_that_one_reading_lacks_is_found_by_the_next() {
    let folder = std::env::temp_dir().join(format!("ontick-claims-by-pages-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let [first, second, killed] = [1, 2, 3].map(|cpu| held(cpu, Spins));
    for holder in [&first, &second, &killed] {
        open(&folder.join(holder.file_name()), true).unwrap();
    }
    let line = |holder: &Holder| {
        let inode = fs::metadata(folder.join(holder.file_name())).unwrap().ino();
        format!("1: FLOCK  ADVISORY  WRITE {} <none>:{inode} 0 EOF\n", holder.pid)
    };
    let readings = Cell::new(0);
    let locks = || match readings.replace(readings.get() + 1) {
        0 => Ok(line(&first)),
        _ => Ok(line(&second)),
    };
    let mut found = living_by(&folder, locks);
    found.sort_by_key(|holder| holder.cpu);
    assert_eq!((found, readings.get()), (vec![first.clone(), second.clone()], READINGS), "nobody holds the third");
    // No more than are needed.
    fs::remove_file(folder.join(killed.file_name())).unwrap();
    readings.set(0);
    assert_eq!(
        (living_by(&folder, || Ok(line(&first) + &line(&second))).len(), living_by(&folder, locks).len()),
        (2, 2)
    );
    assert_eq!(readings.get(), 2);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_a_process_that_ended_left_is_removed() {
    let home = std::env::temp_dir().join(format!("ontick-claims-of-the-dead-{}", std::process::id()));
    let registry = Registry::at(&home).unwrap();
    let place = registry.folder.join(held(5, Spins).file_name());
    drop(open(&place, true).unwrap());
    assert_eq!((registry.holders(), place.exists()), (vec![], false));
    fs::remove_dir_all(home).unwrap();
}

/// The first process number is always there, and never this one.
#[test]
fn a_claim_ends_with_its_lock() {
    let home = std::env::temp_dir().join(format!("ontick-claims-{}", std::process::id()));
    let registry = Registry::at(&home).unwrap();
    let holder = Holder { cpu: 5, pid: 1, occupancy: Spins };
    let place = registry.folder.join(holder.file_name());
    let file = open(&place, true).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    let of_folder = || -> Vec<Holder> { registry.holders().into_iter().filter(|found| *found == holder).collect() };
    assert_eq!(of_folder(), std::slice::from_ref(&holder));
    drop(file);
    assert_eq!(of_folder(), []);
    assert!(!place.exists(), "what it left is removed");
    let _own = registry.enter(5, Rests);
    assert_eq!(of_folder(), [], "one's own are no hindrance");
    fs::remove_dir_all(&home).unwrap();
}

#[test]
fn roots_claims_are_the_machines_and_anothers_lie_in_the_session() {
    assert_eq!(home_of(true, Some("/run/user/0".into())).unwrap(), Path::new("/run/ontick"));
    assert_eq!(home_of(false, Some("/run/user/7".into())).unwrap(), Path::new("/run/user/7/ontick"));
    assert_eq!(home_of(false, None), None, "without a session nobody is hindered");
}

#[test]
fn a_folder_of_another_user_is_not_used() {
    if !rustix::process::geteuid().is_root() {
        return ontick_skip::skipped!("only root can give a folder to another user");
    }
    let home = std::env::temp_dir().join(format!("ontick-anothers-claims-{}", std::process::id()));
    fs::create_dir(&home).unwrap();
    chown(&home, Some(65_534), None).unwrap();
    let refused = Registry::at(&home).is_none();
    chown(&home, Some(0), None).unwrap();
    assert!(refused && Registry::at(&home).is_some());
    fs::remove_dir_all(&home).unwrap();
}

#[test]
fn a_folder_that_others_could_have_made_is_not_used() {
    let home = std::env::temp_dir().join(format!("ontick-planted-{}", std::process::id()));
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Registry::at(&home).is_none());
    let link = home.with_extension("link");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(&home, &link).unwrap();
    assert!(Registry::at(&link).is_none());
    fs::create_dir(home.join(FOLDER)).unwrap();
    symlink("/dev/null", home.join(FOLDER).join(LOCK)).unwrap();
    assert!(Registry::at(&home).is_none(), "a planted link is not followed");
    fs::remove_dir_all(&home).unwrap();
    fs::remove_file(&link).unwrap();
}
