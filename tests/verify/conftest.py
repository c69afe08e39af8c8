from pathlib import Path

import pytest

import memlog
from memlog.signing import SigningKey
from tests.verify.stores import fill


@pytest.fixture(scope="session")
def signed_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose log was signed twice; beside it `key`, `first.note` and `last.note`."""
    directory = tmp_path_factory.mktemp("signed")
    path = directory / "notes.db"
    SigningKey.generate("example.org/notes", new_seed=bytes).save(directory / "key")
    with memlog.open(path) as log:
        log.scope("global").write(title="Before all", body="x")
        (directory / "first.note").write_bytes(log.checkpoint(directory / "key"))
    fill(path)
    with memlog.open(path) as log:
        (directory / "last.note").write_bytes(log.checkpoint(directory / "key"))
    return path
