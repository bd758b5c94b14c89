"""numpy and pyarrow, where they are installed. Nothing else of ontick needs them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    import numpy.typing
    import pyarrow


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}, which is not installed: pip install {name}", name=name) from error


def integers(data: bytes) -> numpy.typing.NDArray[numpy.uint64]:
    """Unsigned integers of 64 bits, without a copy."""
    array: numpy.typing.NDArray[numpy.uint64] = _module("numpy").frombuffer(data, dtype="uint64")
    return array


def numbers(data: bytes, columns: int) -> numpy.typing.NDArray[numpy.float64]:
    """Floating point numbers, row by row, without a copy."""
    array: numpy.typing.NDArray[numpy.float64] = _module("numpy").frombuffer(data, dtype="float64")
    return array.reshape(-1, columns)


def table(columns: dict[str, tuple[str, bytes]]) -> pyarrow.Table:
    """A table of columns, each a pyarrow type's name and its values in native byte order, without a copy."""
    arrow = _module("pyarrow")
    arrays = {
        name: arrow.Array.from_buffers(getattr(arrow, kind)(), len(data) // 8, [None, arrow.py_buffer(data)])
        for name, (kind, data) in columns.items()
    }
    made: pyarrow.Table = arrow.table(arrays)
    return made
