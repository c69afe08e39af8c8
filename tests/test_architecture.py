"""Who may import whom (DESIGN, section 3), and what keeps the modules small and quick to import."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("memlog", "projections")
LINES_MAX = 400


def _memlog(*names: str) -> frozenset[str]:
    return frozenset(f"memlog.{name}" for name in names)


CORE = _memlog(
    "shown",
    "errors",
    "text",
    "note",
    "events",
    "wellformed",
    "codec",
    "fields",
    "requests",
    "decide",
    "defuse",
    "settings",
)
PROOF = _memlog("proof")
NOTHING: frozenset[str] = frozenset()
ABOVE_MEMORY = CORE | PROOF | {"memlog.store", "projections"}
EVERYTHING = frozenset(PACKAGES)

# A row holds for the module and for all modules below it, except that a package's own row holds
# for its `__init__` alone; the longest matching row counts. A module may import what its row
# names, what lies below that, and what shares its row. An issue may add rows, not arrows.
IMPORTS: Mapping[str, frozenset[str]] = {
    "memlog": EVERYTHING,  # lazy exports; what they cost is tested below
    "memlog.shown": NOTHING,
    "memlog.errors": _memlog("shown"),
    "memlog.text": _memlog("errors"),
    "memlog.note": _memlog("errors", "text"),
    "memlog.events": _memlog("note"),
    "memlog.wellformed": _memlog("errors", "text", "note", "events"),  # the values of an event
    "memlog.codec": _memlog("errors", "text", "note", "events", "wellformed"),
    "memlog.fields": _memlog("errors", "text", "note"),  # the values of a request
    "memlog.requests": _memlog("errors", "text", "note", "fields"),  # what a caller may ask
    "memlog.decide": _memlog("errors", "text", "note", "events", "requests"),
    "memlog.defuse": _memlog("errors", "text", "note"),  # how note text reaches a model
    "memlog.guard": _memlog("errors", "note", "requests", "decide"),  # what a model may not do
    "memlog.settings": _memlog("errors"),
    "memlog.store": _memlog("errors", "text", "codec", "settings", "note", "events"),
    "memlog.proof": NOTHING,
    "memlog.signing": _memlog("errors", "proof"),  # keys, and what they sign
    "projections": NOTHING,
    "projections.notes": CORE,
    "projections.search": CORE,
    "projections.digest": CORE | {"projections.notes"},  # headlines come from the tables
    "projections.tree": CORE | PROOF,
    "projections.checkpoints": NOTHING,  # a record of what was signed
    "memlog.feed": ABOVE_MEMORY,  # a scope as a search engine reads it
    "memlog.searching": ABOVE_MEMORY | _memlog("feed"),  # the search side of an open log
    "memlog.sections": ABOVE_MEMORY,  # the section of a scope, stored and rendered
    "memlog.reads": ABOVE_MEMORY | _memlog("searching", "sections"),  # the reading half of memory
    "memlog.step": ABOVE_MEMORY | _memlog("guard"),  # the requests of one transaction
    "memlog.follow": ABOVE_MEMORY,  # a log's events as they commit
    "memlog.rebuild": ABOVE_MEMORY,  # projections anew from the log
    "memlog.jobs": ABOVE_MEMORY,  # the table of the harvest's queue
    "memlog.memory": ABOVE_MEMORY
    | _memlog("audit", "guard", "reads", "step", "searching", "sections"),
    "memlog.log": ABOVE_MEMORY
    | _memlog("memory", "step", "rebuild", "searching", "jobs", "proving", "repair", "follow"),
    "memlog.audit": ABOVE_MEMORY
    | _memlog("feed", "reads", "searching", "sections"),  # the past; methods of memory
    "memlog.repair": ABOVE_MEMORY | _memlog("rebuild"),  # the tree and the sections anew
    "memlog.verify": ABOVE_MEMORY | _memlog("feed", "searching"),  # what a store holds, checked
    "memlog.consistency": _memlog("errors", "proof"),  # the file of a consistency proof
    "memlog.prove": ABOVE_MEMORY | _memlog("consistency"),  # proofs made from a store
    "memlog.checkpoint": ABOVE_MEMORY | _memlog("signing", "verify"),  # the log's size, signed
    "memlog.proving": ABOVE_MEMORY
    | _memlog("rebuild", "verify", "prove", "checkpoint", "signing"),  # the proving half of a log
    "memlog.tools": EVERYTHING,
    "memlog.conversations": ABOVE_MEMORY | _memlog("sections", "memory"),  # what they keep
    "memlog.extension": NOTHING,  # the hooks of an agent loop
    "memlog.plugin": EVERYTHING,
    "memlog.harvest": EVERYTHING,
    "memlog.mcp_server": EVERYTHING,
    "memlog.together": EVERYTHING,  # several requests in one transaction, for the edges
    "memlog.exchange": EVERYTHING,
    "memlog.adapters": EVERYTHING,
    "memlog.doctor": EVERYTHING,
    "memlog.backup": EVERYTHING,  # copies of a store, and stores from copies
    "memlog.copying": EVERYTHING,  # a log in another store, of either engine
    "memlog.__main__": EVERYTHING,
    "memlog.cli": EVERYTHING,
    "memlog.demo": EVERYTHING,
    "memlog.testing": EVERYTHING,
}

# 60 to 155 ms each: imported inside the function that needs them, in everything that a write needs.
LATE = frozenset({"whoosh", "numpy", "typer", "pydantic"})
LEAN = (
    CORE
    | PROOF
    | _memlog("store", "reads", "step", "rebuild", "memory", "log", "repair", "proving")
    | {"projections.notes"}
)
ABSENT_AFTER_IMPORT_MEMLOG = LATE | {"rich", "eventsourcing"}

# "module:qualified name of the function" -> why it takes **kwargs.
KWARGS_ALLOWED: Mapping[str, str] = {
    "memlog.store.postgres_recorder:Recorder.insert_events": "the signature of eventsourcing's",
}


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module; `late` if it is imported in a function or for type checkers only."""

    target: str
    line: int
    late: bool


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES: Mapping[str, Path] = {
    _module_name(path): path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}


def _covers(prefix: str, module: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")


def _row(module: str) -> str | None:
    rows = [
        row for row in IMPORTS if module == row or (row not in PACKAGES and _covers(row, module))
    ]
    return max(rows, key=len, default=None)


def _runs_late(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def _targets(node: ast.AST, package: str, known: Iterable[str]) -> list[str]:
    """Return the modules that one node imports; `package` resolves relative imports."""
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            return [name if name in known else base for name in names]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]) if (
            name in {"import_module", "__import__"}
        ):
            return [str(first.value) if isinstance(first, ast.Constant) else "<computed>"]
    return []


def imports(
    source: str, *, module: str, is_package: bool = False, known: Iterable[str] = tuple(MODULES)
) -> list[Import]:
    """Return every import in the source, at any depth, the ones for type checkers too."""
    package = module if is_package else module.rpartition(".")[0]

    def walk(node: ast.AST, *, late: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            for target in _targets(child, package, known):
                yield Import(target, getattr(child, "lineno", 0), late)
            yield from walk(child, late=late or _runs_late(child))

    return list(walk(ast.parse(source), late=False))


def _imports_of(module: str) -> list[Import]:
    path = MODULES[module]
    is_package = path.name == "__init__.py"
    return imports(path.read_text("utf-8"), module=module, is_package=is_package)


def functions_with_kwargs(source: str, *, module: str) -> list[str]:
    """Return "module:qualified name" of each function that takes **kwargs."""

    def walk(node: ast.AST, scope: tuple[str, ...]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = (*scope, child.name)
            elif isinstance(child, ast.Lambda):
                inner = (*scope, "<lambda>")
            if not isinstance(child, ast.ClassDef) and getattr(
                getattr(child, "args", None), "kwarg", None
            ):
                yield f"{module}:{'.'.join(inner)}"
            yield from walk(child, inner)

    return list(walk(ast.parse(source), ()))


def _run(code: str) -> str:
    """Run code in a fresh interpreter, where a warning is an error, and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done.stdout


def _loaded_by(module: str) -> set[str]:
    loaded = _run(
        "import sys; before = set(sys.modules)\n"
        f"import {module}\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    return set(loaded.split())


def test_the_import_finder_sees_every_way_to_import() -> None:
    source = """
import json, memlog.note
from memlog import errors, open
from . import text
from ..projections.notes import fold
if TYPE_CHECKING:
    from projections import search
class Late:
    def load(self):
        import numpy.linalg
        return importlib.import_module("whoosh"), __import__(name)
"""
    known = ["memlog.errors", "memlog.text", "projections.search"]

    found = imports(source, module="memlog.store", is_package=False, known=known)

    assert [(each.target, each.late) for each in found] == [
        ("json", False),
        ("memlog.note", False),
        ("memlog.errors", False),
        ("memlog", False),
        ("memlog.text", False),
        ("projections.notes", False),
        ("projections.search", True),
        ("numpy.linalg", True),
        ("whoosh", True),
        ("<computed>", True),
    ]


def test_the_kwargs_finder_sees_methods_nested_functions_and_lambdas() -> None:
    source = """
class A:
    def f(self, **kwargs):
        async def g(**kw): ...
        return lambda **kw: kw
def plain(*args, key=None): ...
"""
    found = functions_with_kwargs(source, module="m")

    assert found == ["m:A.f", "m:A.f.g", "m:A.f.<lambda>"]


def test_both_packages_are_looked_at() -> None:
    assert set(PACKAGES) <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_row_allows(module: str) -> None:
    row = _row(module)
    assert row, f"{module} has no row: add one to IMPORTS in tests/test_architecture.py (DESIGN 3)"
    allowed = IMPORTS[row] | ({row} - set(PACKAGES))

    refused = [
        f"{module}:{each.line} imports {each.target}; its row allows {sorted(allowed)}"
        for each in _imports_of(module)
        if any(_covers(package, each.target) for package in PACKAGES)
        and not any(_covers(prefix, each.target) for prefix in allowed)
    ]

    assert not refused, "\n".join(refused)


def test_only_the_package_itself_imports_by_a_computed_name() -> None:
    found = [
        f"{module}:{each.line}"
        for module in MODULES
        if module != "memlog"
        for each in _imports_of(module)
        if each.target == "<computed>"
    ]

    assert not found, f"the import table cannot see these imports: {found}"


def test_only_the_search_projection_knows_whoosh() -> None:
    found = [
        f"{module}:{each.line}"
        for module in MODULES
        if not _covers("projections.search", module)
        for each in _imports_of(module)
        if _covers("whoosh", each.target)
    ]

    assert not found, f"whoosh belongs in projections.search, not in {found}"


def test_slow_libraries_are_never_imported_at_module_level_on_the_write_path() -> None:
    found = [
        f"{module}:{each.line} imports {each.target}"
        for module in MODULES
        if module in PACKAGES or _row(module) in LEAN
        for each in _imports_of(module)
        if not each.late and each.target.partition(".")[0] in LATE
    ]

    assert not found, f"move these into the functions that need them: {found}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_at_most_400_lines(module: str) -> None:
    line_count = len(MODULES[module].read_text("utf-8").splitlines())

    assert line_count <= LINES_MAX, f"{module} has {line_count} lines: split it"


# Each is imported by a child that has no module of ours; what is not ours is there already.
_FIRST_IMPORTS = """
import os, sys
import eventsourcing.sqlite, hypothesis, msgspec, numpy, rich.progress, typer, whoosh.index
failed = []
for name in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        __import__(name)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        failed.append(name)
sys.exit(" ".join(failed) or 0)
"""


def test_every_module_works_as_the_first_import_of_a_fresh_process() -> None:
    modules = [module for module in sorted(MODULES) if not module.endswith("__main__")]
    command = [sys.executable, "-W", "error", "-c", _FIRST_IMPORTS, *modules]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_importing_memlog_loads_no_slow_library() -> None:
    assert _loaded_by("memlog") & ABSENT_AFTER_IMPORT_MEMLOG == set()


@pytest.mark.parametrize("module", ["memlog.memory", "memlog.log"])
def test_importing_the_write_path_loads_no_library_that_it_can_do_without(module: str) -> None:
    assert _loaded_by(module) & LATE == set()


def test_no_public_name_is_the_name_of_a_submodule() -> None:
    submodules = {module.split(".")[1] for module in MODULES if module.startswith("memlog.")}

    public = set(importlib.import_module("memlog").__all__)

    assert public & submodules == set(), "importing the submodule would replace the public name"


def test_every_public_name_is_there() -> None:
    memlog = importlib.import_module("memlog")

    missing = [name for name in memlog.__all__ if not hasattr(memlog, name)]

    assert not missing


def test_no_function_takes_kwargs_without_a_listed_reason() -> None:
    found = {
        function
        for module, path in MODULES.items()
        for function in functions_with_kwargs(path.read_text("utf-8"), module=module)
    }

    assert found - set(KWARGS_ALLOWED) == set(), "name the arguments, or list it with a reason"
    assert set(KWARGS_ALLOWED) - found == set(), "listed in KWARGS_ALLOWED, but not there any more"


def test_no_text_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    # --others: a new file counts before it is committed.
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    needle = b"/wo" + b"rk/"

    found = [
        str(path.relative_to(ROOT))
        for path in paths
        if path.is_file() and b"\0" not in (content := path.read_bytes()) and needle in content
    ]

    assert not found
