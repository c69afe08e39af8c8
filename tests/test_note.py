"""The values: what a scope may be, and what notes and results say about themselves."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, strategies

from memlog.errors import InvalidRequestError
from memlog.note import (
    NO_SOURCE,
    PROVENANCES,
    RELS,
    Link,
    Linked,
    Note,
    Provenance,
    Reading,
    Rel,
    Scope,
    Source,
    why_untrusted,
)

MOMENT = datetime(2026, 11, 30, 19, 15, tzinfo=UTC)
TEA = Note(
    slug="tea",
    title="Tea",
    body="green",
    created_seq=1,
    written_seq=1,
    updated_seq=1,
    created_at=MOMENT,
    written_at=MOMENT,
)


@pytest.mark.parametrize(
    "principal",
    ["a", "alice", "Alice", "a b", "a/b", "../x", "é", "茶", "\u200b", "x" * 256, "é" * 128],
)
def test_a_principal_is_any_short_string_and_comes_back_from_its_stream(principal: str) -> None:
    scope = Scope("owner", principal)

    assert scope.stream == f"owner/{principal}"
    assert Scope.of_stream(scope.stream) == scope


def test_the_global_scope_has_a_stream_of_its_own() -> None:
    assert Scope("global").stream == "global/"
    assert Scope.of_stream("global/") == Scope("global")


def test_principals_are_case_sensitive() -> None:
    assert Scope("owner", "alice") != Scope("owner", "Alice")


@pytest.mark.parametrize(
    ("principal", "rule"),
    [
        (None, "give a string"),
        (7, "give a string"),
        (b"alice", "give a string"),
        ("", "give 1 to 256 bytes of UTF-8"),
        ("x" * 257, "give 1 to 256 bytes of UTF-8"),
        ("é" * 128 + "x", "give 1 to 256 bytes of UTF-8"),
        ("e\u0301", "give it in Unicode normal form C"),
        ("a\nb", "leave out control characters"),
        ("a\0", "leave out control characters"),
        ("\x7f", "leave out control characters"),
        ("\x85a", "leave out control characters"),
        (" a", "leave out outer white space"),
        ("a ", "leave out outer white space"),
        ("\u3000a", "leave out outer white space"),
        ("\ud800", "give valid Unicode"),
    ],
)
def test_a_principal_that_does_not_fit_is_refused_and_never_repaired(
    principal: str, rule: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Scope("owner", principal)

    assert (caught.value.field, caught.value.value, caught.value.rule) == (
        "principal",
        principal,
        rule,
    )


@pytest.mark.parametrize("principal", ["alice", " ", 0])
def test_the_global_scope_has_no_principal(principal: str) -> None:
    with pytest.raises(InvalidRequestError, match="global has no principal"):
        Scope("global", principal)


@pytest.mark.parametrize("stream", ["", "alice", "Owner/alice", "team/alice", "/alice"])
def test_a_stream_of_no_kind_is_no_scope(stream: str) -> None:
    with pytest.raises(InvalidRequestError, match="use 'owner' or 'global'"):
        Scope.of_stream(stream)


@pytest.mark.parametrize("stream", ["owner", "owner/", "global/alice"])
def test_a_stream_with_the_wrong_principal_is_no_scope(stream: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Scope.of_stream(stream)

    assert caught.value.field == "principal"


@given(strategies.text())
def test_any_string_is_a_scope_that_comes_back_or_is_refused(principal: str) -> None:
    try:
        scope = Scope("owner", principal)
    except InvalidRequestError:
        return
    assert Scope.of_stream(scope.stream) == scope
    assert scope.principal == principal


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        TEA.title = "Coffee"  # type: ignore[misc]  # that is the point


def test_a_source_has_five_fields_and_no_others() -> None:
    known = msgspec.convert({"url": "https://example.org"}, Source)

    assert known == Source(url="https://example.org")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"uri": "https://example.org"}, Source)


def test_provenances_and_rels_list_what_their_types_allow() -> None:
    assert PROVENANCES == ("agent", "web", "user", "compaction", "import")
    assert RELS == ("related", "derived_from", "supersedes")


def test_a_note_is_live_until_it_is_superseded() -> None:
    assert TEA.live
    assert not msgspec.structs.replace(TEA, superseded_by="oolong").live


@pytest.mark.parametrize(
    ("provenance", "source", "why"),
    [
        ("agent", NO_SOURCE, None),
        ("user", NO_SOURCE, None),
        ("import", NO_SOURCE, None),
        ("agent", Source(artifact="tea.md", note="by hand"), None),
        ("compaction", NO_SOURCE, "its provenance is 'compaction'"),
        ("web", Source(url="https://example.org"), "it has a source URL"),
        ("user", Source(url="https://example.org"), "it has a source URL"),
        ("import", Source(url="https://example.org"), "it has a source URL"),
    ],
)
def test_compaction_and_a_url_make_content_untrusted(
    provenance: Provenance, source: Source, why: str | None
) -> None:
    assert why_untrusted(provenance, source) == why
    assert msgspec.structs.replace(TEA, provenance=provenance, source=source).untrusted == why


@pytest.mark.parametrize("superseder", [None, "oolong"])
def test_a_reading_says_what_superseded_its_note(superseder: str | None) -> None:
    note = msgspec.structs.replace(TEA, superseded_by=superseder)

    assert Reading(note=note, links=(), backlinks=()).superseded_by == superseder


@pytest.mark.parametrize("rel", RELS)
def test_a_linked_answer_says_its_relation(rel: Rel) -> None:
    linked = Linked(
        changed=True,
        seq=3,
        position=3,
        from_note=TEA,
        to_note=TEA,
        link=Link("oolong", "tea", rel),
    )

    assert linked.rel == rel
