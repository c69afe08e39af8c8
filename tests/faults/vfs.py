"""A file system that fails when it is told to, below SQLite itself.

The engine's own VFS (sqlite.org/c3ref/vfs.html) is registered once more as the default one, with
methods of its files replaced: they count their calls, fail the n-th, and else do what they did. So
what is tested is the real engine on a real file, and the answer to a failed write or fsync is
its own.
"""

import _sqlite3
import ctypes
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any

import pytest

# The name is a pointer too: the engine keeps it, and finds the names of its other files behind it.
_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_READ_OR_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_INT = CFUNCTYPE(c_int, c_void_p, c_int)
_SHM_LOCK = CFUNCTYPE(c_int, c_void_p, c_int, c_int, c_int)

# In the order of sqlite3_io_methods; what is replaced has its type, the rest is a pointer.
_METHODS: tuple[tuple[str, Any], ...] = (
    ("close", c_void_p),
    ("read", _READ_OR_WRITE),
    ("write", _READ_OR_WRITE),
    ("truncate", _TRUNCATE),
    ("sync", _INT),
    ("file_size", c_void_p),
    ("lock", _INT),
    ("unlock", c_void_p),
    ("check_reserved_lock", c_void_p),
    ("file_control", c_void_p),
    ("sector_size", c_void_p),
    ("device_characteristics", c_void_p),
    ("shm_map", c_void_p),
    ("shm_lock", _SHM_LOCK),
    ("shm_barrier", c_void_p),
    ("shm_unmap", c_void_p),
    ("fetch", c_void_p),
    ("unfetch", c_void_p),
)
REPLACED = ("read", "write", "truncate", "sync", "lock", "shm_lock")
_FOREVER: list["FaultyFiles"] = []  # A connection that nobody closed still points into them.
_SHM_UNLOCK = 1  # SQLITE_SHM_UNLOCK: letting go cannot fail.


class _Methods(Structure):
    _fields_ = (("version", c_int), *_METHODS)


class _File(Structure):
    _fields_ = (("methods", POINTER(_Methods)),)


class _Vfs(Structure):
    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("path_max", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("app", c_void_p),
        ("open", _OPEN),
        *((f"method_{number}", c_void_p) for number in range(17)),
    )


class FaultyFiles:
    """Counts the calls of each method, and fails one of them.

    Attributes:
        calls: how often each method was called since `arm`.
        failed: whether the fault has happened.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        library.sqlite3_vfs_find.restype = POINTER(_Vfs)
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        library.sqlite3_vfs_register.argtypes = [POINTER(_Vfs), c_int]
        library.sqlite3_vfs_unregister.argtypes = [POINTER(_Vfs)]
        self._library, self.calls, self.failed = library, Counter[str](), False
        self._fault: tuple[str, int, int] | None = None
        self._kept: list[Any] = []  # C holds pointers into these.
        self._copies: dict[int, Any] = {}
        self._original = library.sqlite3_vfs_find(None)
        self._vfs = _Vfs()
        ctypes.memmove(ctypes.byref(self._vfs), self._original, ctypes.sizeof(_Vfs))
        self._vfs.name, self._vfs.next = b"faulty", None
        self._vfs.open = self._keep(_OPEN(self._open))

    def _keep(self, value: Any) -> Any:  # noqa: ANN401  # a pointer to a function
        self._kept.append(value)
        return value

    def register(self) -> None:
        self._library.sqlite3_vfs_register(ctypes.byref(self._vfs), 1)

    def unregister(self) -> None:
        self._library.sqlite3_vfs_unregister(ctypes.byref(self._vfs))
        self._library.sqlite3_vfs_register(self._original, 1)

    def arm(self, method: str = "", *, call: int = 0, code: int = 0, lasting: bool = False) -> None:
        """Let the `call`-th call of a method from now on fail; `lasting`: all later ones too."""
        self.calls.clear()
        self.failed, self._lasting = False, lasting
        self._fault = (method, call, code) if method else None

    def _code(self, method: str) -> int:
        self.calls[method] += 1
        if self._fault is None or self._fault[0] != method:
            return 0
        count = self.calls[method]
        if count == self._fault[1] or (self._lasting and count > self._fault[1]):
            self.failed = True
            return self._fault[2]
        return 0

    def _open(self, vfs: Any, name: Any, file: Any, flags: int, out: Any) -> int:  # noqa: ANN401
        code = int(self._original.contents.open(vfs, name, file, flags, out))
        opened = ctypes.cast(file, POINTER(_File)).contents
        if code == 0 and opened.methods:
            opened.methods = ctypes.pointer(self._replaced(opened.methods))
        return code

    def _replaced(self, original: Any) -> Any:  # noqa: ANN401  # a pointer to the engine's methods
        address = ctypes.addressof(original.contents)
        if address not in self._copies:
            copy = _Methods()
            ctypes.memmove(ctypes.byref(copy), original, ctypes.sizeof(_Methods))
            for name in REPLACED:
                kind, method = dict(_METHODS)[name], getattr(original.contents, name)
                if method:
                    setattr(copy, name, self._keep(kind(self._counted(name, method))))
            self._copies[address] = self._keep(copy)
        return self._copies[address]

    def _counted(self, name: str, method: Callable[..., int]) -> Callable[..., int]:
        if name == "shm_lock":

            def shm_lock(file: Any, offset: int, count: int, flags: int) -> int:  # noqa: ANN401
                code = 0 if flags & _SHM_UNLOCK else self._code(name)
                return code or int(method(file, offset, count, flags))

            return shm_lock

        def call(*arguments: Any) -> int:  # noqa: ANN401
            return self._code(name) or int(method(*arguments))

        return call


@contextmanager
def faulty_files() -> Iterator[FaultyFiles]:
    """Let SQLite open files that can be told to fail, while the block runs."""
    try:
        files = FaultyFiles(ctypes.CDLL(_sqlite3.__file__))
    except (AttributeError, OSError):
        pytest.skip(f"the functions of SQLite {sqlite3.sqlite_version} cannot be reached here")
    _FOREVER.append(files)
    files.register()
    try:
        yield files
    finally:
        files.arm()
        files.unregister()
