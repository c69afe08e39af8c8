"""Import of the SDK's server alone: a client waits for the start of the process.

`import mcp.server.…` runs the SDK's packages from the top, which import its client, its high-level
server and their models as well: a third of the time. Here the two packages are put in place without
being run, and the modules that a server needs are imported below them. An SDK whose modules cannot
be imported like this is imported as a whole.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec

_PACKAGES = ("mcp", "mcp.server")


def import_server() -> None:
    """Import what `protocol` and `stdio` need. For a process that does nothing else with the SDK.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    # It warns of each request that it refuses, in the request's own words.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    with _no_collection():
        if "mcp" in sys.modules:
            return
        try:
            _put_in_place()
            import mcp.server.lowlevel.server
            import mcp.server.stdio
        except ImportError:
            for name in [name for name in sys.modules if name.partition(".")[0] == "mcp"]:
                del sys.modules[name]
            import mcp.server.lowlevel.server
            import mcp.server.stdio  # noqa: F401  # as above: only to have them loaded


def _put_in_place() -> None:
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(name=name)
        module = sys.modules[name] = module_from_spec(spec)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Import without collecting garbage: a thousand classes are made, and none is thrown away."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
