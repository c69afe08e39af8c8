"""What a target names, and which places are refused."""

from pathlib import Path

import pytest

import memlog
from memlog.errors import InvalidRequestError, UnsafeLocationError
from memlog.store import location
from memlog.store.location import check_location, file_system, sqlite_path

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:27 / /mnt/share rw,relatime - nfs4 server:/share rw,vers=4.2
31 30 0:28 / /mnt/share/local rw,relatime shared:9 master:3 - xfs /dev/vdb rw
32 22 0:29 / /mnt/with\040space\134and\011more rw - cifs //server/share rw
33 22 0:30 / /mnt/Größe rw - nfs server:/g rw
34 22 0:31 / /mnt/over rw - ext4 /dev/vdc rw
35 22 0:32 / /mnt/over rw - fuse.sshfs host: rw
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_bytes(MOUNTS.strip().encode() + b"\n36 22 0:33 / /mnt/\xff rw - nfs s:/x rw\n")
    return path


@pytest.mark.parametrize(
    ("directory", "kind"),
    [
        ("/", "ext4"),
        ("/mnt/shared", "ext4"),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/a/b", "nfs4"),
        ("/mnt/share/local/a", "xfs"),
        ("/mnt/with space\\and\tmore/a", "cifs"),
        ("/mnt/Größe/a", "nfs"),
        ("/mnt/over", "fuse.sshfs"),
        ("/mnt/\udcff/a", "nfs"),
    ],
)
def test_the_nearest_mount_names_the_file_system(mounts: Path, directory: str, kind: str) -> None:
    assert file_system(Path(directory), mounts=mounts) == kind


def test_where_the_system_does_not_tell_nothing_is_known(tmp_path: Path) -> None:
    assert file_system(tmp_path, mounts=tmp_path / "none") is None


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "file_system", lambda _: "nfs4")

    with pytest.raises(UnsafeLocationError, match=r"nfs4 is a network file system.*a local disk"):
        check_location(tmp_path / "notes.db")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("notes.db", "notes.db"),
        (Path("notes.db"), "notes.db"),
        ("sqlite:///notes.db", "notes.db"),
        ("sqlite:///a%20b%3F.db", "a b?.db"),
        ("what?.db", "what?.db"),
    ],
)
def test_a_target_is_a_path_or_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: object, name: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert sqlite_path(target) == tmp_path.resolve() / name
    assert sqlite_path("sqlite:////var/notes.db") == Path("/var/notes.db").resolve()


@pytest.mark.parametrize(
    "target",
    ["", "  ", "a\0b", "sqlite://host/x", "sqlite:///a?mode=ro", b"x", 7],
)
def test_any_other_target_is_refused_by_name(target: object) -> None:
    with pytest.raises(InvalidRequestError, match=r"^target ") as caught:
        sqlite_path(target)

    assert caught.value.value == target


def test_a_url_of_another_kind_is_refused_without_its_password() -> None:
    with pytest.raises(InvalidRequestError, match=r"^target ") as caught:
        sqlite_path("mysql://me:secret@host/db")

    assert caught.value.value == "mysql://***"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "target", ["host=localhost password=secret", "dbname=notes", " user = me password=secret"]
)
def test_a_connection_string_is_no_file_and_its_password_is_not_shown(target: str) -> None:
    with pytest.raises(InvalidRequestError, match="postgresql://") as caught:
        sqlite_path(target)

    assert "secret" not in str(caught.value)
    assert sqlite_path(f"./{target}") is not None


@pytest.mark.parametrize("end", ["-lock", "-wal", "-shm", "-journal"])
def test_a_file_beside_a_store_is_no_place_for_another(tmp_path: Path, end: str) -> None:
    with pytest.raises(UnsafeLocationError, match="files beside a store"):
        memlog.open(tmp_path / f"notes.db{end}")

    assert not [*tmp_path.iterdir()]
