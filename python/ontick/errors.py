"""What can go wrong. Every exception of ontick is an `Error`, and one of Python's own besides."""


class Error(Exception):
    """Anything that ontick could not do; the message says what, why, and what to do."""


class ArgumentError(Error, ValueError):
    """An argument that means nothing, or nothing here."""


class RefusedError(Error, PermissionError):
    """The system does not allow it to this user; the message says what would."""


class InUseError(Error, BlockingIOError):
    """A CPU, a loop or an acquisition that somebody else has."""


class WrongThreadError(Error, RuntimeError):
    """Something that only the thread that began it can end."""


class ForkedError(Error, RuntimeError):
    """Something of the parent process, used after a fork."""


class MeasurementError(Error, RuntimeError):
    """A measurement that could not be made, or that ended with nothing."""


class SamplesLostError(Error, RuntimeError):
    """Samples that nobody took in time."""


class RecordError(Error, ValueError):
    """A file that is no record, and no output of a tool that is known."""


class PlanError(Error, RuntimeError):
    """A network for which there is no schedule, or none was found."""


class NetworkError(Error, OSError):
    """An interface or an address by which no messages can be sent or received."""


class LineError(Error, OSError):
    """A GPIO line that could not be had, or was lost."""


class LineNotFoundError(LineError, FileNotFoundError):
    """There is no such line or chip."""


class LineInUseError(LineError, InUseError):
    """Another program has the line."""


class LinePermissionError(LineError, RefusedError):
    """This user may not open the line's chip."""
