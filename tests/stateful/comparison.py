"""Compare everything that a log answers with what the reference model answers."""

from typing import Any

import msgspec

from memlog.errors import MemlogError, NoteNotFoundError
from memlog.log import Log
from memlog.memory import Memory
from memlog.note import Linked, Note, Outcome, Written
from memlog.testing import Model, ScopeModel, strategies

PROBES = ("Tea", "Green tea", "茶の湯 と 心得")


def plain(note: Note) -> dict[str, Any]:
    """Return a note as the model keeps it."""
    fields = {name: getattr(note, name) for name in Note.__struct_fields__}
    source = msgspec.structs.asdict(note.source)
    return {**fields, "source": {key: value for key, value in source.items() if value is not None}}


def plain_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return what a call answered as the model answers it."""
    result: dict[str, Any] = {
        "changed": outcome.changed,
        "replayed": outcome.replayed,
        "seq": outcome.seq,
        "position": outcome.position,
    }
    if isinstance(outcome, Written):
        result["slug"] = outcome.note.slug
        result["created"], result["unpinned"] = outcome.created, outcome.unpinned
        result["similar"] = [msgspec.structs.astuple(each) for each in outcome.similar]
    elif isinstance(outcome, Linked):
        result["slug"], result["left_section"] = outcome.from_note.slug, outcome.left_section
    else:
        result["slug"] = outcome.note.slug  # type: ignore[attr-defined]  # it is a Pinned
    return result


def plain_error(error: MemlogError) -> tuple[Any, ...]:
    """Return what an error says; the slugs that it offers are tested elsewhere."""
    if isinstance(error, NoteNotFoundError):
        return type(error), error.slug
    return type(error), error.args


def compare_outcome(outcome: Outcome, expected: dict[str, Any], scope: ScopeModel) -> None:
    """Compare what a call answered, and that its notes are those of now."""
    assert plain_outcome(outcome) == expected
    notes = (
        (outcome.from_note, outcome.to_note) if isinstance(outcome, Linked) else (outcome.note,)  # type: ignore[attr-defined]  # Written or Pinned
    )
    for note in notes:
        assert plain(note) == scope.get(note.slug)


def compare_log(log: Log, model: Model) -> None:
    """Compare what the handle answers."""
    infos = [(each.scope.stream, each.live, each.notes, each.last_seq) for each in log.scopes()]
    assert infos == model.scopes()
    assert log.position() == len(model.events)
    for event, expected in zip(log.events(), model.events, strict=True):
        assert event.position == expected["position"]
        assert (event.stream, event.seq) == (expected["stream"], expected["seq"])
        assert (event.type, event.recorded_at) == (expected["type"], expected["recorded_at"])


def compare_scope(memory: Memory, scope: ScopeModel) -> None:
    """Compare every read of one scope."""
    assert memory.fingerprint() == scope.fingerprint()
    _compare_pages(memory, scope)
    for slug in scope.notes:
        _compare_note(memory, scope, slug)
    for slug in strategies.SLUGS:
        if slug not in scope.notes:
            assert memory.get(slug) is None
    for title in PROBES:
        found = [msgspec.structs.astuple(each) for each in memory.similar(title, topics=["Hot"])]
        assert found == scope.similar(title, topics=["hot"])
    assert [event.seq for event in memory.events()] == list(range(1, len(scope.positions) + 1))


def _compare_pages(memory: Memory, scope: ScopeModel) -> None:
    assert [note.slug for note in memory.notes()] == scope.page()
    assert [note.slug for note in memory.notes(live_only=True)] == scope.page(live_only=True)
    before: int | None = None
    for _ in range(3):
        page = memory.notes(limit=2, before=before)
        assert [note.slug for note in page] == scope.page(limit=2, before=before)
        if page:
            before = page[-1].written_seq


def _compare_note(memory: Memory, scope: ScopeModel, slug: str) -> None:
    note, reading, expected = memory.get(slug), memory.read(slug), scope.read(slug)
    assert note is not None
    assert plain(note) == expected["note"]
    assert reading.note == note
    assert [msgspec.structs.astuple(link) for link in reading.links] == expected["links"]
    assert [msgspec.structs.astuple(link) for link in reading.backlinks] == expected["backlinks"]
    assert reading.superseded_by == expected["superseded_by"]
    history = memory.history(slug)
    assert [(each.seq, each.type) for each in history] == [
        (each["seq"], each["type"]) for each in scope.history(slug)
    ]
    assert history[-1].note == note
