"""The wheel is what people get: it must hold what the other tests run, and nothing else."""

import configparser
import email
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("memlog", "projections")
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in PACKAGES
    for path in (ROOT / package).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
)
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build with the backend itself: no pip, no isolation, so no network."""
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = directory.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    directory = wheel.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


def _dist_info(unpacked: Path) -> Path:
    (directory,) = unpacked.glob("*.dist-info")
    return directory


def test_the_wheel_holds_both_packages_byte_for_byte(unpacked: Path) -> None:
    assert {"memlog/__init__.py", "memlog/py.typed"} <= set(SOURCES)
    assert {"projections/__init__.py", "projections/py.typed"} <= set(SOURCES)

    packed = sorted(
        path.relative_to(unpacked).as_posix()
        for package in PACKAGES
        for path in (unpacked / package).rglob("*")
        if path.is_file()
    )
    changed = [
        name for name in SOURCES if (unpacked / name).read_bytes() != (ROOT / name).read_bytes()
    ]

    assert packed == SOURCES
    assert not changed


def test_the_wheel_holds_nothing_but_the_packages_and_its_metadata(unpacked: Path) -> None:
    top_level = {path.name for path in unpacked.iterdir()}

    assert top_level == {*PACKAGES, _dist_info(unpacked).name}


def test_the_metadata_names_version_readme_licence_and_dependencies(unpacked: Path) -> None:
    directory = _dist_info(unpacked)
    metadata = email.message_from_string((directory / "METADATA").read_text("utf-8"))

    assert metadata["Name"] == "agent-memlog"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert metadata.get_payload() == (ROOT / "README.md").read_text("utf-8")
    assert (directory / "licenses" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    always = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert len(always) == len(PROJECT["dependencies"])


def test_the_console_script_of_the_wheel_runs(unpacked: Path, tmp_path: Path) -> None:
    scripts = configparser.ConfigParser()
    scripts.read(_dist_info(unpacked) / "entry_points.txt", "utf-8")
    assert dict(scripts["console_scripts"]) == {"memlog": "memlog.cli:main"}

    code = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r})\n"
        "import memlog; print(memlog.__file__, file=sys.stderr)\n"
        "from memlog.cli import main\n"
        "sys.argv = ['memlog', '--help']; sys.exit(main())"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == str(unpacked / "memlog" / "__init__.py")
    assert "Usage" in done.stdout
