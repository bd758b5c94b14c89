//! What a recorder has, as a record keeps it.

use ontick_record::Histogram;
use ontick_record::histogram::Bucket;
use ontick_rt::recorder::Snapshot;

pub(crate) fn histogram(snapshot: &Snapshot) -> Histogram {
    let buckets = snapshot.buckets().map(Bucket::from);
    Histogram::recorded(buckets, snapshot.min_ns.zip(snapshot.max_ns), snapshot.sum_ns, snapshot.sum_of_squares)
}
