"""libregtune_db, found and opened, with the structures of regtune.h. Knows nothing of what they mean."""

import ctypes
import ctypes.util
import functools
import os
from pathlib import Path
from typing import List

# The major version: part of the library's SONAME.
_SONAME = "libregtune_db.so.0"


class LibraryNotFound(ImportError):
    """libregtune_db cannot be loaded; the message says where it was looked for."""


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("file", ctypes.c_char_p),
        ("system_files", ctypes.c_char_p),
        ("check_interval_ms", ctypes.c_int),
        ("refuse_stale", ctypes.c_int),
    ]


class Size(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class Key(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("kernel", ctypes.c_char_p),
        ("sizes", ctypes.POINTER(Size)),
        ("size_count", ctypes.c_size_t),
        ("block", ctypes.c_uint * 3),
        ("source_tag", ctypes.c_char_p),
        ("compiler", ctypes.c_char_p),
        ("driver", ctypes.c_char_p),
    ]


class GpuFields(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("compute_major", ctypes.c_int),
        ("compute_minor", ctypes.c_int),
        ("sm_count", ctypes.c_int),
        ("memory_clock_mhz", ctypes.c_int),
    ]


class BudgetFields(ctypes.Structure):
    _fields_ = [
        ("policy", ctypes.c_int),
        ("registers", ctypes.c_int),
        ("max_threads_per_block", ctypes.c_int),
        ("min_blocks_per_sm", ctypes.c_int),
        ("block", ctypes.c_uint * 3),
        ("registers_per_thread", ctypes.c_int),
        ("speedup", ctypes.c_double),
        ("speedup_low", ctypes.c_double),
        ("speedup_high", ctypes.c_double),
        ("option", ctypes.c_char_p),
        ("attribute", ctypes.c_char_p),
        ("defines", ctypes.c_char_p),
        ("instance", ctypes.c_char_p),
        ("statement", ctypes.c_char_p),
    ]


class AnswerFields(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("match", ctypes.c_int),
        ("stale", ctypes.c_uint),
        ("size_distance", ctypes.c_double),
        ("best", BudgetFields),
        ("in_source", BudgetFields),
        ("verdict", ctypes.c_char_p),
        ("kernel", ctypes.c_char_p),
        ("signature", ctypes.c_char_p),
        ("gpu_name", ctypes.c_char_p),
        ("driver", ctypes.c_char_p),
        ("compiler", ctypes.c_char_p),
        ("source_tag", ctypes.c_char_p),
        ("measured", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
    ]


def _candidates() -> List[str]:
    named = os.environ.get("REGTUNE_LIBRARY")
    if named:
        return [named]  # the last word: no other is tried
    folder = Path(__file__).resolve().parent
    candidates = [str(folder / name) for name in (_SONAME, "libregtune_db.so") if (folder / name).exists()]
    return candidates + [_SONAME]


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The opened library. Raises LibraryNotFound."""
    failures = []
    for candidate in _candidates():
        try:
            opened = ctypes.CDLL(candidate)
            break
        except OSError as failure:
            failures.append(str(failure))
    else:
        raise LibraryNotFound(
            "libregtune_db cannot be loaded:\n  "
            + "\n  ".join(failures)
            + "\nInstall it (package libregtune0, or cmake --install of regtune), or name the file: "
            f"REGTUNE_LIBRARY=/path/to/{_SONAME}"
        )
    try:
        _declare(opened)
    except AttributeError as missing:
        raise LibraryNotFound(f"{candidate} is no libregtune_db of this version: {missing}") from None
    return opened


def _declare(opened: ctypes.CDLL) -> None:
    cache = ctypes.c_void_p
    for name, result, arguments in (
        ("regtune_open", ctypes.c_int, [ctypes.POINTER(Options), ctypes.POINTER(cache)]),
        ("regtune_close", None, [cache]),
        (
            "regtune_find",
            ctypes.c_int,
            [cache, ctypes.POINTER(Key), ctypes.POINTER(GpuFields), ctypes.POINTER(AnswerFields)],
        ),
        ("regtune_problem", ctypes.c_size_t, [cache, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
        ("regtune_status_text", ctypes.c_char_p, [ctypes.c_int]),
        ("regtune_version", ctypes.c_char_p, []),
    ):
        function = getattr(opened, name)
        function.restype = result
        function.argtypes = arguments


def library_version() -> str:
    """The version of the library that was loaded: "0.1.0". Raises LibraryNotFound."""
    return text(library().regtune_version())


def text(value: "bytes | None") -> str:
    return "" if value is None else value.decode("utf-8", "replace")
