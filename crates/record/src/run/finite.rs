//! JSON has no NaN or infinity; written as `null` they would make a record that cannot be read back.

use serde::{Serialize, Serializer};

pub fn finite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(if value.is_finite() { *value } else { 0.0 })
}

pub fn all_finite<S: Serializer>(values: &Option<[f64; 3]>, serializer: S) -> Result<S::Ok, S::Error> {
    values.filter(|v| v.iter().all(|v| v.is_finite())).serialize(serializer)
}
