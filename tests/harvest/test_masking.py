"""Secrets are found by their form, their name or their place; the rest of a text stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlog.harvest.entries import BYTES_MAX, transcript
from memlog.harvest.masking import mask
from memlog.harvest.pattern import Pattern
from memlog.harvest.patterns import PATTERNS, is_secret_name
from tests.harvest.secrets import PLACES, TOKENS

PROSE = [
    "We decided on 2026-11-30 to move the deploy to Mondays, because of the review.",
    "The password is stored in the vault, and the token was rotated.",
    "max_tokens: 4096, input_tokens=35; token_count is 7",
    "commit 3281ce5f0e8c4d1b9a7f6e5d4c3b2a1908f7e6d5 fixes #12",
    "uuid 123e4567-e89b-12d3-a456-426614174000 at https://example.com/a/b?page=2&sort=asc",
    "def hello_world(name: str) -> None:\n    print(f'Hello {name}')\n",
    "These cells were identified by staining, those by user groups identified by us.",
    "I set the environment up; the secret set of rules was set to be kept, with login -p as usual.",
    "Zip the folder, open the vault, put it on the net and use curl: no secrets there.",
    "kind: ConfigMap\ndata:\n  colour: blue\n  size: large\n",
    "我下周去北京出差。会议在三点。",
    "वह कल दिल्ली जाएगा",
    "See memlog/harvest/masking.py:120, or ask alice@example.com.",
]


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_is_known_by_its_form(name: str) -> None:
    token = TOKENS[name]

    for text in (token, f"use {token} there", f'x("{token}")', f"a\\n{token}\\nb", f"<{token}>"):
        masked = mask(text)
        assert token not in masked.text, text
        assert masked.counts.total() >= 1


@pytest.mark.parametrize("name", PLACES)
def test_a_secret_is_known_by_its_place(name: str) -> None:
    text, secrets = PLACES[name]

    masked = mask(f"Look: {text}")

    assert not [secret for secret in secrets if secret in masked.text]
    assert masked.text.startswith("Look: ")


@pytest.mark.parametrize("text", PROSE)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert mask(text) == (text, {})


@given(
    st.lists(st.sampled_from([*TOKENS.values(), *(text for text, _ in PLACES.values()), *PROSE]))
)
def test_masked_text_holds_nothing_to_mask(texts: list[str]) -> None:
    once = mask("\n\n".join(texts)).text

    assert mask(once) == (once, {})


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    masked = mask(text)

    assert bool(masked.counts) == (masked.text != text)


_LONG = 20_000


@pytest.mark.parametrize(
    "hostile",
    [
        "kind: Secret\n" * _LONG,
        "data:\n  x\n" * _LONG,
        "  data:\n" * _LONG,
        "zip curl openssl " * _LONG,
        "set -x secret " * _LONG,
        "create user x identified by " * _LONG,
        "vault put x " * _LONG,
        'token=\\"' + "\\" * _LONG,
        "hvs." * _LONG,
        "token for a " * _LONG,
        "token a=a " * _LONG,
        "token>" * _LONG,
        "('token', '" * _LONG,
        "://a:" * _LONG,
        ("a" * 999 + " ") * (_LONG // 40),
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_costs_linear_time(hostile: str) -> None:
    # It ends: with a pattern of quadratic time, each of these takes minutes or hours.
    transcript([hostile])


def test_the_set_of_patterns_can_be_extended() -> None:
    patterns = (*PATTERNS, Pattern("badge", r"BADGE-\d{6}"))

    assert mask("he has BADGE-123456", patterns) == ("he has [masked:badge]", {"badge": 1})


@pytest.mark.parametrize(
    "name",
    [
        *("password", "clientSecret", "API_KEY", "apiKey", "db.passwd", "credentials", "token2"),
        *("DB_PASS", "pw", "auth", "jwt", "session_id", "Set-Cookie", "X-Hub-Signature"),
        "private_key_pem",
    ],
)
def test_a_field_is_known_by_its_name(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["tokens", "input_tokens", "secretary", "role", "passage", "compass", "author", "bypass"],
)
def test_other_fields_are_not(name: str) -> None:
    assert not is_secret_name(name)


# --- Whole transcripts


def _entries(document: str) -> list[Any]:
    loaded = json.loads(document)
    assert set(loaded) == {"system", "entries"}
    entries: list[Any] = loaded["entries"]
    return entries


@pytest.mark.parametrize("name", PLACES)
def test_no_secret_is_left_in_a_transcript_wherever_it_stands(name: str) -> None:
    text, secrets = PLACES[name]
    entries = [
        text,
        {"role": "user", "content": [{"type": "text", "text": text}]},
        {"tool": {"arguments": json.dumps({"text": text})}, text: 1},
    ]

    made = transcript(entries, system=text)

    assert not [secret for secret in secrets if secret in made.document]
    assert sum(made.masked.values()) >= 4


def test_what_stands_in_a_secret_field_is_masked_whatever_it_is() -> None:
    entries = [
        {"password": "abc", "pin": 1, "credentials": {"a": ["b", 12345]}, "input_tokens": 7},
        {"name": "DB_PASSWORD", "value": "abc"},
    ]

    made = transcript(entries)

    masked = "[masked:named-field]"
    assert _entries(made.document) == [
        {
            "password": masked,
            "pin": 1,
            "credentials": {"a": [masked, masked]},
            "input_tokens": 7,
        },
        {"name": "DB_PASSWORD", "value": masked},
    ]
    assert made.masked == {"named-field": 4}


@pytest.mark.parametrize(
    "entry",
    [
        {"Name": "DB_PASSWORD", "Value": "hunter2"},
        {"field": "password", "text": "hunter2"},
        {"arguments": '{"selector": "input[name=\\"password\\"]", "value": "hunter2"}'},
        {"command": ["mysql", "--password", "hunter2", "-h", "db"]},
        {"headers": [["Authorization", "hunter2"], ["Accept", "*/*"]]},
        {"apiVersion": "v1", "data": {"anything": "hunter2"}, "kind": "Secret"},
    ],
)
def test_a_secret_is_known_by_the_field_or_item_beside_it(entry: dict[str, Any]) -> None:
    made = transcript([entry])

    assert "hunter2" not in made.document
    assert made.masked == {"named-field": 1}


def test_a_list_of_names_and_options_stays() -> None:
    entries = [["user", "password", "mail"], ["ls", "--all", "src"], {"name": "a", "text": "b"}]

    assert _entries(transcript(entries).document) == entries


def test_a_transcript_without_secrets_holds_its_entries_unchanged() -> None:
    entries = [*PROSE, {"role": "assistant", "content": [{"type": "text", "text": "Ja."}]}]

    made = transcript(entries, system="You are helpful.")

    assert json.loads(made.document) == {"system": "You are helpful.", "entries": entries}
    assert (made.masked, made.left_out) == ({}, 0)


def test_a_pattern_that_reaches_over_several_strings_masks_each_of_them_alone() -> None:
    greedy = (Pattern("all", r"(?s)secret.*"),)

    made = transcript(["secret one", "two", "a secret"], patterns=greedy)

    assert _entries(made.document) == ["[masked:all]", "two", "a [masked:all]"]


def test_the_newest_megabyte_is_kept() -> None:
    entries = [f"{number}: " + "wörd " * 1_000 for number in range(400)]

    made = transcript(entries)

    kept = _entries(made.document)
    assert kept == entries[-len(kept) :]
    assert made.left_out == len(entries) - len(kept) > 0
    assert BYTES_MAX - 10_000 < len(made.document.encode()) <= BYTES_MAX


@pytest.mark.parametrize("long", ["word " * 600_000, '"\\' * 900_000, "字。" * 500_000])
def test_one_entry_that_is_too_long_is_cut(long: str) -> None:
    made = transcript(["old", {"role": "tool", "content": long}])

    assert len(made.document.encode()) <= BYTES_MAX
    assert "[left out]" in made.document
    assert _entries(made.document)


@pytest.mark.parametrize("many", [list(range(1_000_000)), [""] * 1_000_000, [[]] * 1_000_000])
def test_one_entry_of_too_many_values_is_cut(many: list[Any]) -> None:
    (entry,) = _entries(transcript([{"content": many}]).document)

    assert 0 < len(entry["content"]) < 200_000
    assert entry["content"][-1] == "[left out]"


def test_no_half_of_a_secret_is_left_where_a_text_is_cut() -> None:
    token = TOKENS["github"]
    for before in range(0, 45, 11):
        text = "w " * (BYTES_MAX // 2 - before) + token + " w" * 10_000

        made = transcript([text])

        assert token[:12] not in made.document


def test_files_in_a_message_are_left_out() -> None:
    made = transcript([{"type": "image", "data": "iVBORw0KGgo" * 1_000}])

    assert _entries(made.document) == [{"type": "image", "data": "[left out]"}]


class _Unfriendly:
    def __str__(self) -> str:
        return "content='hello' role='user'"


@pytest.mark.parametrize(
    "entry", [_Unfriendly(), b"hello", {1: {2}}, float("nan"), 10**400, "\ud800"]
)
def test_objects_that_are_no_json_become_text(entry: object) -> None:
    assert len(_entries(transcript([entry]).document)) == 1


def test_entries_that_contain_themselves_end_somewhere() -> None:
    entries: list[Any] = []
    entries.append(entries)

    assert "[left out]" in transcript(entries).document
