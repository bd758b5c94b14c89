//! What talkers and listeners of a planned network have in common.

use std::ffi::c_char;
use std::path::PathBuf;

use ontick_network::endpoint::{EndpointError, ErrorKind, StationFiles};

use crate::input::text;
use crate::status::{
    Failure, ONTICK_ERROR_ARGUMENT, ONTICK_ERROR_IN_USE, ONTICK_ERROR_NOT_FOUND, ONTICK_ERROR_REFUSED,
    ONTICK_ERROR_SYSTEM,
};

pub(crate) fn refused(error: &EndpointError) -> Failure {
    let status = match error.kind() {
        ErrorKind::Argument => ONTICK_ERROR_ARGUMENT,
        ErrorKind::NotFound => ONTICK_ERROR_NOT_FOUND,
        ErrorKind::Refused => ONTICK_ERROR_REFUSED,
        ErrorKind::InUse => ONTICK_ERROR_IN_USE,
        ErrorKind::System => ONTICK_ERROR_SYSTEM,
    };
    Failure::new(status, error)
}

/// Text that may be left out.
///
/// # Safety
/// `given` is NULL or a string that ends with a zero byte.
pub(crate) unsafe fn optional<'a>(given: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    match given.is_null() {
        true => Ok(None),
        // SAFETY: as the caller promises.
        false => unsafe { text(given, what) }.map(Some),
    }
}

/// What stands between commas; nothing where nothing is named.
///
/// # Safety
/// As for [`optional`].
pub(crate) unsafe fn list<'a>(given: *const c_char, what: &str) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: as the caller promises.
    let given = unsafe { optional(given, what) }?;
    Ok(given.into_iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| !text.is_empty()).collect())
}

/// The files and the station, as the options of both ends name them.
pub(crate) struct Named {
    pub network: *const c_char,
    pub plan: *const c_char,
    pub station: *const c_char,
    pub target: *const c_char,
    pub calibration: *const c_char,
}

impl Named {
    /// # Safety
    /// Each is NULL or a string that ends with a zero byte.
    pub unsafe fn files(&self) -> Result<StationFiles, Failure> {
        // SAFETY: as the caller promises.
        unsafe {
            Ok(StationFiles {
                network: text(self.network, "the network's file")?.into(),
                plan: text(self.plan, "the plan's file")?.into(),
                target: optional(self.target, "the target")?.map(str::to_owned),
                calibration: optional(self.calibration, "the calibration's file")?.map(PathBuf::from),
                station: text(self.station, "the station's name")?.into(),
            })
        }
    }
}
