//! Run code on time.
