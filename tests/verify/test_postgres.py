"""A log in PostgreSQL is verified, signed and proven as one in a file."""

from pathlib import Path

import memlog
from memlog.proof import check_bundle, parse_bundle
from memlog.signing import SigningKey


def test_a_log_in_postgresql_verifies_and_is_proven(postgres_url: str, tmp_path: Path) -> None:
    key = SigningKey.generate("example.org/notes")
    key.save(tmp_path / "key")
    with memlog.open(postgres_url) as log:
        memory = log.scope("owner", "alice")
        memory.write_many([{"title": f"Tea {n}", "body": "x"} for n in range(5)])
        memory.link("tea-1", "tea-2", "supersedes", request_id="r-1")
        memory.section()
        old = log.checkpoint(tmp_path / "key")
        memory.write(title="Milk", body="x", pinned=True)
        log.checkpoint(tmp_path / "key")

        found = log.verify(checkpoints={"old": old}, keys=[str(key.verifier)])

        assert found.first is None
        assert found.ok
        assert found.events == log.position()
        assert check_bundle(parse_bundle(log.prove(3)), [key.verifier]) == (key.verifier,)
        assert log.prove_consistency(old)
        assert log.rebuild("tree").differences == ()
        assert log.rebuild("section").differences == ()


def test_damage_in_postgresql_is_named(postgres_url: str) -> None:
    with memlog.open(postgres_url) as log:
        log.scope("global").write_many([{"title": f"Tea {n}", "body": "x"} for n in range(5)])
        with log._store.transaction() as transaction:  # noqa: SLF001  # by hand, on purpose
            statement = "UPDATE tree_nodes SET hash = ? WHERE id = 4"
            transaction.cursor.execute(statement, (bytes(32),))
            transaction.cursor.execute("UPDATE notes_a SET body = 'Forged.' WHERE id = 2", ())

        found = log.verify()

        assert found.first is not None
        assert (found.first.check, found.first.position) == ("tree", 4)
        assert {each.name for each in found.failed} == {"tree", "notes"}
