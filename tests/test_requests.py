"""What a caller may ask: each value that does not fit is refused with its name and what to do."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies

from memlog import requests
from memlog.codec import canonical_json
from memlog.errors import InvalidRequestError, SelfLinkError
from memlog.note import NO_SOURCE, Link, Source
from memlog.requests import Content, Origin
from memlog.shown import shown

BODY_BYTES_MAX = 32_000
URL = "https://example.org/tea"


def write(**given: object) -> requests.Write:
    """Return the request of a small valid write with some arguments given."""
    arguments: dict[str, Any] = {
        "title": "Tea",
        "body": "green",
        "max_body_bytes": BODY_BYTES_MAX,
        **given,
    }
    return requests.write(**arguments)


# --- What is accepted


def test_a_small_write_has_the_defaults() -> None:
    request = write()

    assert request.method == "write"
    assert request.content == Content(
        title="Tea",
        body="green",
        topics=(),
        confidence=1.0,
        provenance="agent",
        source=NO_SOURCE,
        extra={},
    )
    assert request.slug is None
    assert request.if_seq is None
    assert not request.pinned
    assert not request.allow_pin_untrusted


def test_a_full_write_keeps_every_argument() -> None:
    request = write(
        topics=["Hot Drinks", "tea"],
        pinned=True,
        confidence=0.75,
        source={"artifact": "tea.md", "note": "by hand"},
        slug="tea",
        extra={"b": "2", "a": "1"},
        if_seq=3,
        provenance="user",
        allow_pin_untrusted=True,
    )

    assert request.content == Content(
        title="Tea",
        body="green",
        topics=("hot-drinks", "tea"),
        confidence=0.75,
        provenance="user",
        source=Source(artifact="tea.md", note="by hand"),
        extra={"a": "1", "b": "2"},
    )
    assert (request.slug, request.if_seq) == ("tea", 3)
    assert request.pinned
    assert request.allow_pin_untrusted


def test_a_request_id_stands_for_all_arguments_checked_but_with_topics_as_given() -> None:
    request = write(topics=("Hot Drinks",), confidence=0.12345, source={"url": " "}, slug="tea")

    assert request.given == {
        "title": "Tea",
        "body": "green",
        "topics": ["Hot Drinks"],
        "pinned": False,
        "confidence": 0.123,
        "source": dict.fromkeys(("url", "artifact", "note", "created_at", "updated_at")),
        "slug": "tea",
        "extra": {},
        "if_seq": None,
        "provenance": None,
        "allow_pin_untrusted": False,
    }


def test_topics_from_an_iterator_are_read_once() -> None:
    request = write(topics=iter(["Hot Drinks", "tea"]))

    assert request.content.topics == ("hot-drinks", "tea")
    assert request.given["topics"] == ["Hot Drinks", "tea"]


@pytest.mark.parametrize(
    "prose",
    [
        "x",
        " x ",
        "tea\n",
        "\ttabs\r\n",
        "\x1b[31mred",
        "\u202ebidi",
        "茶🍵",
        "e\u0301",
        "</MEMORY>",
    ],
)
def test_title_and_body_are_kept_as_they_are(prose: str) -> None:
    content = write(title=prose, body=prose).content

    assert (content.title, content.body) == (prose, prose)


@pytest.mark.parametrize("body", ["x" * 32_000, "é" * 16_000, "🍵" * 8_000])
def test_a_body_may_have_32_000_bytes(body: str) -> None:
    assert write(body=body).content.body == body


@pytest.mark.parametrize("title", ["x" * 500, "é" * 250])
def test_a_title_may_have_500_bytes(title: str) -> None:
    assert write(title=title).content.title == title


def test_the_body_limit_is_a_setting() -> None:
    assert write(body="12345", max_body_bytes=5).content.body == "12345"
    with pytest.raises(InvalidRequestError, match="it has 6 bytes of UTF-8, at most 5 are kept"):
        write(body="123456", max_body_bytes=5)


@pytest.mark.parametrize(
    ("confidence", "kept"),
    [
        (0, 0.0),
        (1, 1.0),
        (0.5, 0.5),
        (0.12349, 0.123),
        (0.1235000001, 0.124),
        (0.99951, 1.0),
        (0.0004, 0.0),
        (-0.0, 0.0),
    ],
)
def test_confidence_is_kept_with_three_decimals(confidence: float, kept: float) -> None:
    found = write(confidence=confidence).content.confidence

    assert type(found) is float
    assert str(found) == str(kept)


def test_8_topics_of_40_characters_are_accepted() -> None:
    topics = [letter * 40 for letter in "abcdefgé"]

    assert write(topics=topics).content.topics == tuple(topics)


def test_topics_are_counted_after_repeats_and_blanks_are_dropped() -> None:
    topics = ["a", "A", " a ", "", "b", "c", "d", "e", "f", "g", "h"]

    assert write(topics=topics).content.topics == tuple("abcdefgh")


def test_topics_are_measured_after_they_are_normalised() -> None:
    assert write(topics=["-" * 50 + "tea"]).content.topics == ("tea",)


@pytest.mark.parametrize("topics", [["a"], ("a",), iter("a")])
def test_topics_may_come_in_any_iterable(topics: object) -> None:
    assert write(topics=topics).content.topics == ("a",)


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        (None, NO_SOURCE),
        ({}, NO_SOURCE),
        ({"url": URL}, Source(url=URL)),
        ({"url": ""}, NO_SOURCE),
        ({"url": " \n"}, NO_SOURCE),
        ({"url": None, "artifact": "", "note": " "}, NO_SOURCE),
        (Source(artifact="tea.md"), Source(artifact="tea.md")),
        ({"url": "x" * 2_048}, Source(url="x" * 2_048)),
        ({"artifact": "é" * 500, "note": "x" * 1_000}, Source(artifact="é" * 500, note="x" * 1000)),
    ],
)
def test_a_blank_text_of_a_source_is_none(source: object, kept: Source) -> None:
    assert write(source=source).content.source == kept


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 30, 19, 15, tzinfo=UTC),
        datetime(2026, 11, 30, 20, 15, tzinfo=timezone(timedelta(hours=1))),
        "2026-11-30T19:15:00Z",
        "2026-11-30T19:15:00.000000Z",
        "2026-11-30 20:15+01:00",
    ],
)
def test_a_time_of_a_source_is_kept_in_the_form_of_the_log(moment: object) -> None:
    source = write(source={"created_at": moment, "updated_at": moment}).content.source

    assert source.created_at == source.updated_at == "2026-11-30T19:15:00.000000Z"


@pytest.mark.parametrize(
    ("given_provenance", "url", "kept"),
    [
        (None, None, "agent"),
        (None, URL, "web"),
        ("agent", None, "agent"),
        ("web", URL, "web"),
        ("user", None, "user"),
        ("user", URL, "user"),
        ("compaction", None, "compaction"),
        ("import", URL, "import"),
        ("agent", " ", "agent"),
    ],
)
def test_provenance_follows_from_the_url_unless_code_gives_another(
    given_provenance: str | None, url: str | None, kept: str
) -> None:
    request = write(provenance=given_provenance, source={"url": url})

    assert request.content.provenance == kept


def test_extra_may_have_8_000_bytes_keys_included() -> None:
    extra = {"ké": "x" * 3_997, "b": "é" * 1_999 + "x"}

    assert write(extra=extra).content.extra == extra
    with pytest.raises(InvalidRequestError, match="it has 8,001 bytes"):
        write(extra=extra | {"c": ""})


def test_extra_is_kept_in_the_order_of_its_keys() -> None:
    assert list(write(extra={"b": "", "é": "", "a": ""}).content.extra) == ["a", "b", "é"]


def test_if_seq_0_without_a_slug_says_that_the_note_must_be_new() -> None:
    assert write(if_seq=0).if_seq == 0


@pytest.mark.parametrize("slug", ["a", "tea", "a.b_c-d", "9" * 80])
def test_a_slug_is_kept_as_it_is(slug: str) -> None:
    assert write(slug=slug).slug == slug
    assert requests.pin(slug).slug == slug
    assert requests.unpin(slug).slug == slug


def test_pinning_remembers_what_was_given() -> None:
    pin = requests.pin("tea", allow_pin_untrusted=True)
    unpin = requests.unpin("tea")

    assert (pin.method, pin.allow_pin_untrusted) == ("pin", True)
    assert pin.given == {"slug": "tea", "allow_pin_untrusted": True}
    assert (unpin.method, unpin.given) == ("unpin", {"slug": "tea"})


def test_linking_remembers_what_was_given() -> None:
    link = requests.add_link("new", "old", "supersedes", label="it rotated")
    unlink = requests.remove_link("new", "old", "related")

    assert link.link == Link("new", "old", "supersedes", "it rotated")
    assert (link.method, link.given) == (
        "link",
        {"from_slug": "new", "to_slug": "old", "rel": "supersedes", "label": "it rotated"},
    )
    assert unlink.link == Link("new", "old", "related", None)
    assert (unlink.method, unlink.given) == (
        "unlink",
        {"from_slug": "new", "to_slug": "old", "rel": "related", "label": None},
    )


@pytest.mark.parametrize("label", [None, "x", "x" * 200, "é" * 100])
def test_a_label_may_have_200_bytes(label: str | None) -> None:
    assert requests.add_link("a", "b", "related", label=label).link.label == label


@pytest.mark.parametrize("identity", [None, "a", " ", "x" * 256, "é" * 128, "agent:claude", "茶"])
def test_an_opaque_id_has_up_to_256_bytes(identity: str | None) -> None:
    origin = requests.origin(actor=identity, conversation_id=identity, request_id=identity)

    assert origin == Origin(actor=identity, conversation_id=identity, request_id=identity)


# --- What is refused: the field, the value, what to do

VALID_UNICODE = "give valid Unicode, without lone surrogates"
NO_NUL = "leave out NUL characters"
VISIBLE = "give at least one visible character"
STRING = "give a string"
NUMBER = "give a number from 0 to 1"
FLAG = "give true or false"
SOURCE = "give a mapping such as {'url': 'https://...'}"
SOURCE_FIELDS = "its fields are url, artifact, note, created_at, updated_at"
TIME = "give an aware datetime, or ISO 8601 text with a time zone"
EXTRA = "give a mapping of strings to strings"
PROVENANCE = "use one of agent, web, user, compaction, import"
SEEN = "give the updated_seq that you saw, or 0"
SLUG = "a slug is 1 to 80 of a-z 0-9 . _ - and starts with a letter or digit"
REL = "use one of related, derived_from, supersedes"
IDENTITY = "give 1 to 256 bytes without control characters"
NAIVE = datetime(2026, 11, 30, 19, 15)  # noqa: DTZ001  # naive on purpose

# Argument of a write, what is given, the field and the value that the error names, its rule.
BAD_WRITES: list[tuple[str, object, str, object, str]] = [
    *(
        (field, value, field, value, rule)
        for field in ("title", "body")
        for value, rule in [
            (None, STRING),
            (7, STRING),
            (b"tea", STRING),
            (["tea"], STRING),
            ("\ud800", VALID_UNICODE),
            ("tea\udfff", VALID_UNICODE),
            ("\0", NO_NUL),
            ("tea\0", NO_NUL),
            ("", VISIBLE),
            (" ", VISIBLE),
            ("\n\t\r", VISIBLE),
            ("\u3000\xa0\u2028", VISIBLE),
        ]
    ),
    ("title", "x" * 501, "title", "x" * 501, "it has 501 bytes of UTF-8, at most 500 are kept"),
    ("title", "é" * 251, "title", "é" * 251, "it has 502 bytes of UTF-8, at most 500 are kept"),
    (
        "body",
        "x" * 32_001,
        "body",
        "x" * 32_001,
        "it has 32,001 bytes of UTF-8, at most 32,000 are kept",
    ),
    (
        "body",
        "é" * 16_000 + "x",
        "body",
        "é" * 16_000 + "x",
        "it has 32,001 bytes of UTF-8, at most 32,000 are kept",
    ),
    ("topics", "tea", "topics", "tea", "give a list of strings"),
    ("topics", None, "topics", None, "give a list of strings"),
    ("topics", 7, "topics", 7, "give a list of strings"),
    ("topics", [7], "topics", 7, STRING),
    ("topics", ["tea", None], "topics", None, STRING),
    ("topics", ["\ud800"], "topics", "\ud800", VALID_UNICODE),
    ("topics", ["a\0"], "topics", "a\0", NO_NUL),
    (
        "topics",
        list("abcdefghi"),
        "topics",
        list("abcdefghi"),
        "9 topics are too many, at most 8 are kept",
    ),
    (
        "topics",
        ["tea", "x" * 41],
        "topics",
        "x" * 41,
        "a topic has at most 40 characters, this has 41",
    ),
    (
        "topics",
        ["ﬃ" * 14],
        "topics",
        "ffi" * 14,
        "a topic has at most 40 characters, this has 42",
    ),
    *(
        ("confidence", value, "confidence", value, NUMBER)
        for value in (
            float("nan"),
            float("inf"),
            float("-inf"),
            -0.1,
            1.001,
            -1,
            2,
            "high",
            "0.5",
            True,
            False,
            None,
        )
    ),
    ("pinned", 1, "pinned", 1, FLAG),
    ("pinned", None, "pinned", None, FLAG),
    ("pinned", "yes", "pinned", "yes", FLAG),
    ("allow_pin_untrusted", 1, "allow_pin_untrusted", 1, FLAG),
    ("source", URL, "source", URL, SOURCE),
    ("source", [URL], "source", [URL], SOURCE),
    ("source", {1: URL}, "source", {1: URL}, SOURCE),
    ("source", {"uri": URL}, "source", "uri", SOURCE_FIELDS),
    ("source", {"url": URL, "zz": 1, "author": 2}, "source", "author", SOURCE_FIELDS),
    ("source", {"url": 7}, "source.url", 7, STRING),
    ("source", {"url": "\ud800"}, "source.url", "\ud800", VALID_UNICODE),
    ("source", {"url": "a\0"}, "source.url", "a\0", NO_NUL),
    (
        "source",
        {"url": "x" * 2_049},
        "source.url",
        "x" * 2_049,
        "it has 2,049 bytes of UTF-8, at most 2,048 are kept",
    ),
    (
        "source",
        {"artifact": "x" * 1_001},
        "source.artifact",
        "x" * 1_001,
        "it has 1,001 bytes of UTF-8, at most 1,000 are kept",
    ),
    (
        "source",
        {"note": "é" * 501},
        "source.note",
        "é" * 501,
        "it has 1,002 bytes of UTF-8, at most 1,000 are kept",
    ),
    ("source", Source(note="a\0"), "source.note", "a\0", NO_NUL),
    ("source", {"created_at": NAIVE}, "source.created_at", NAIVE, TIME),
    ("source", {"updated_at": NAIVE}, "source.updated_at", NAIVE, TIME),
    (
        "source",
        {"created_at": "2026-11-30T19:15:00"},
        "source.created_at",
        "2026-11-30T19:15:00",
        TIME,
    ),
    ("source", {"created_at": "2026-11-30"}, "source.created_at", "2026-11-30", TIME),
    ("source", {"created_at": "yesterday"}, "source.created_at", "yesterday", TIME),
    ("source", {"created_at": ""}, "source.created_at", "", TIME),
    ("source", {"created_at": 1764530100}, "source.created_at", 1764530100, TIME),
    (
        "source",
        {"created_at": "0001-01-01T00:00:00+01:00"},
        "source.created_at",
        "0001-01-01T00:00:00+01:00",
        "give a time in the years 1 to 9999",
    ),
    ("extra", "a=1", "extra", "a=1", EXTRA),
    ("extra", [("a", "1")], "extra", [("a", "1")], EXTRA),
    ("extra", {"a": 1}, "extra", {"a": 1}, EXTRA),
    ("extra", {"a": None}, "extra", {"a": None}, EXTRA),
    ("extra", {1: "a"}, "extra", {1: "a"}, EXTRA),
    ("extra", {"a": "\ud800"}, "extra", "\ud800", VALID_UNICODE),
    ("extra", {"a\0": ""}, "extra", "a\0", NO_NUL),
    (
        "extra",
        {"a": "x" * 8_001},
        "extra",
        "x" * 8_001,
        "it has 8,001 bytes of UTF-8, at most 8,000 are kept",
    ),
    (
        "extra",
        {"a": "x" * 8_000},
        "extra",
        {"a": "x" * 8_000},
        "it has 8,001 bytes of UTF-8, at most 8,000 are kept",
    ),
    ("provenance", "robot", "provenance", "robot", PROVENANCE),
    ("provenance", "", "provenance", "", PROVENANCE),
    ("provenance", ["user"], "provenance", ["user"], PROVENANCE),
    ("provenance", "web", "provenance", "web", "with this source it is 'agent'; leave it out"),
    ("if_seq", -1, "if_seq", -1, SEEN),
    ("if_seq", "3", "if_seq", "3", SEEN),
    ("if_seq", True, "if_seq", True, SEEN),
    ("if_seq", 1.0, "if_seq", 1.0, SEEN),
    ("if_seq", 3, "if_seq", 3, "name the slug of the note that you saw"),
]

BAD_SLUGS: list[tuple[object, str]] = [
    (None, STRING),
    (7, STRING),
    ("", f"{SLUG}; 'n-e3b0c44298' would do"),
    ("../x", f"{SLUG}; 'x' would do"),
    ("A B", f"{SLUG}; 'a-b' would do"),
    ("tea\n", f"{SLUG}; 'tea' would do"),
    ("\ntea", f"{SLUG}; 'tea' would do"),
    ("-tea", f"{SLUG}; 'tea' would do"),
    ("Café", f"{SLUG}; 'cafe' would do"),
    ("a/b", f"{SLUG}; 'a-b' would do"),
    ("a" * 81, f"{SLUG}; '{'a' * 80}' would do"),
    ("tea\0", f"{SLUG}; 'tea' would do"),
    ("\ud800", SLUG),
    ("茶", f"{SLUG}; 'n-7e005ba311' would do"),
]

BAD_IDENTITIES: list[tuple[object, str]] = [
    (7, STRING),
    (b"a", STRING),
    ("", IDENTITY),
    ("a\nb", IDENTITY),
    ("\x1b", IDENTITY),
    ("\x7f", IDENTITY),
    ("\x9b", IDENTITY),
    ("\0", NO_NUL),
    ("\ud800", VALID_UNICODE),
    ("x" * 257, "it has 257 bytes of UTF-8, at most 256 are kept"),
    ("é" * 129, "it has 258 bytes of UTF-8, at most 256 are kept"),
]


def _refused(call: Callable[[], object], field: str, value: object, rule: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        call()

    error = caught.value
    assert error.field == field
    assert error.value is value or error.value == value
    assert error.rule in (rule, f"{rule}; shorten it", f"{rule}; split the note")
    assert str(error) == f"{field} {shown(value)} is not accepted: {error.rule}"
    assert str(error).isprintable()


@pytest.mark.parametrize(("argument", "given_value", "field", "value", "rule"), BAD_WRITES)
def test_a_bad_value_of_a_write_is_named_and_the_rule_with_it(
    argument: str, given_value: object, field: str, value: object, rule: str
) -> None:
    _refused(lambda: write(**{argument: given_value}), field, value, rule)


def test_agent_is_no_provenance_of_a_note_from_the_web() -> None:
    _refused(
        lambda: write(provenance="agent", source={"url": URL}),
        "provenance",
        "agent",
        "with this source it is 'web'; leave it out",
    )


def _slug_calls(slug: object) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "slug", lambda: write(slug=slug)
    yield "slug", lambda: requests.pin(slug)
    yield "slug", lambda: requests.unpin(slug)
    yield "from_slug", lambda: requests.add_link(slug, "b", "related")
    yield "to_slug", lambda: requests.add_link("a", slug, "related")
    yield "from_slug", lambda: requests.remove_link(slug, "b", "related")
    yield "to_slug", lambda: requests.remove_link("a", slug, "related")


@pytest.mark.parametrize(("slug", "rule"), BAD_SLUGS)
def test_a_bad_slug_is_refused_everywhere_and_a_good_one_offered(slug: object, rule: str) -> None:
    for field, call in _slug_calls(slug):
        if slug is None and field == "slug":
            continue  # A write without slug derives one.
        _refused(call, field, slug, rule)


def test_pinning_needs_a_slug() -> None:
    _refused(lambda: requests.pin(None), "slug", None, STRING)
    _refused(lambda: requests.unpin(None), "slug", None, STRING)


@pytest.mark.parametrize("flag", [1, 0, None, "true"])
def test_the_override_of_a_pin_is_true_or_false(flag: object) -> None:
    _refused(
        lambda: requests.pin("tea", allow_pin_untrusted=flag), "allow_pin_untrusted", flag, FLAG
    )


@pytest.mark.parametrize("rel", ["", "Related", "supersede", None, 7, ["related"], {}])
def test_an_unknown_rel_is_refused_and_the_known_ones_named(rel: object) -> None:
    _refused(lambda: requests.add_link("a", "b", rel), "rel", rel, REL)
    _refused(lambda: requests.remove_link("a", "b", rel), "rel", rel, REL)


@pytest.mark.parametrize(
    ("label", "rule"),
    [
        (7, STRING),
        ("a\0", NO_NUL),
        ("\ud800", VALID_UNICODE),
        ("x" * 201, "it has 201 bytes of UTF-8, at most 200 are kept"),
        ("é" * 101, "it has 202 bytes of UTF-8, at most 200 are kept"),
    ],
)
def test_a_bad_label_is_refused(label: object, rule: str) -> None:
    _refused(lambda: requests.add_link("a", "b", "related", label=label), "label", label, rule)


def test_a_note_is_never_linked_to_itself_nor_unlinked() -> None:
    for call in (requests.add_link, requests.remove_link):
        with pytest.raises(SelfLinkError) as caught:
            call("tea", "tea", "related")
        assert caught.value.slug == "tea"


@pytest.mark.parametrize("field", ["actor", "conversation_id", "request_id"])
@pytest.mark.parametrize(("identity", "rule"), BAD_IDENTITIES)
def test_a_bad_opaque_id_is_refused_by_name(field: str, identity: object, rule: str) -> None:
    given_ids: dict[str, Any] = {field: identity}

    _refused(lambda: requests.origin(**given_ids), field, identity, rule)


# --- Whatever comes

JUNK = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(-(2**63), 2**63),
    strategies.floats(),
    strategies.text(strategies.characters(), max_size=5),
    strategies.binary(max_size=3),
    strategies.lists(strategies.text(strategies.characters(), max_size=3), max_size=2),
    strategies.dictionaries(
        strategies.sampled_from(["url", "note", "created_at", "x"]) | strategies.integers(),
        strategies.none() | strategies.text(strategies.characters(), max_size=3),
        max_size=2,
    ),
)
ARGUMENTS = strategies.sampled_from(
    [
        "title",
        "body",
        "topics",
        "pinned",
        "confidence",
        "source",
        "slug",
        "extra",
        "if_seq",
        "provenance",
        "allow_pin_untrusted",
    ]
)


@given(strategies.dictionaries(ARGUMENTS, JUNK, max_size=4))
def test_any_write_gives_a_request_that_can_be_hashed_or_names_its_bad_field(
    arguments: dict[str, object],
) -> None:
    try:
        request = write(**arguments)
    except InvalidRequestError as error:
        named = error.field.partition(".")[0]
    else:
        assert canonical_json(request.given)
        return
    assert named in arguments


# --- What Python takes for a number, a string or a time, and the log cannot


def test_a_huge_whole_number_is_no_confidence() -> None:
    _refused(lambda: write(confidence=10**400), "confidence", 10**400, NUMBER)


class _Markup(str):
    """A string of a subclass, as template libraries and numpy give them."""

    __slots__ = ()


@pytest.mark.parametrize("argument", ["title", "body"])
def test_a_subclass_of_str_is_kept_as_a_plain_string(argument: str) -> None:
    request = write(**{argument: _Markup("tea")})

    assert canonical_json(request.content)
    assert canonical_json(request.given)


def test_a_lone_surrogate_in_a_time_is_refused() -> None:
    moment = "2026-11-30\ud80019:15:00+00:00"

    _refused(lambda: write(source={"created_at": moment}), "source.created_at", moment, TIME)


def test_topics_in_a_set_are_refused_since_the_first_one_files_the_note() -> None:
    _refused(lambda: write(topics={"a"}), "topics", {"a"}, "give a list of strings")
