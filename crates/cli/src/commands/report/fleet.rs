//! `ontick report --fleet`: the records of many machines.

use std::path::PathBuf;
use std::thread;

use ontick_record::fleet::{Fleet, Survey};
use ontick_record::store::StoreError;
use ontick_record::{Run, store};

use super::found::{Found, found};
use super::table::Add;

/// Read before any of them is added up: what memory holds at a time.
const AT_ONCE: usize = 128;

/// Reads all records below the places and says what they say together. `seen` has each as it comes, in their order.
pub fn survey(places: &[PathBuf], seen: &mut Add) -> Result<Survey, StoreError> {
    let found = found(places)?;
    let mut fleet = Fleet::default();
    for batch in found.chunks(AT_ONCE) {
        for (one, read) in batch.iter().zip(read(batch)) {
            match read {
                Ok(run) => {
                    seen(&one.file, &run)?;
                    fleet.add(&one.machine, &run);
                }
                Err(why) => fleet.refuse(why),
            }
        }
    }
    match fleet.records() {
        0 => Err(nothing(places, &fleet.survey(None))),
        _ => Ok(fleet.survey(None)),
    }
}

/// By as many threads as there are CPUs.
fn read(batch: &[Found]) -> Vec<Result<Run, StoreError>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = batch.len().div_ceil(threads).max(1);
    let of_share = |share: &[Found]| share.iter().map(|one| store::read_any(&one.file)).collect::<Vec<_>>();
    thread::scope(|scope| {
        let threads: Vec<_> = batch.chunks(share).map(|share| scope.spawn(move || of_share(share))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("reading a record does not panic")).collect()
    })
}

fn nothing(places: &[PathBuf], survey: &Survey) -> StoreError {
    let problem = match survey.refused.first.first() {
        Some(why) => format!("none of the {} files is a record; the first: {why}", survey.refused.files),
        None => "there is no file whose name ends with .json".into(),
    };
    StoreError::NotARecord { path: places.first().cloned().unwrap_or_default(), problem }
}
