//! The kernel's answers as error numbers.

use rustix::io::Errno;

/// The number behind an error of the uAPI.
pub fn of(error: gpiocdev_uapi::Error) -> Errno {
    match error {
        gpiocdev_uapi::Error::Os(number) => Errno::from_raw_os_error(number.0),
        gpiocdev_uapi::Error::UnderRead(_) => Errno::IO,
    }
}
