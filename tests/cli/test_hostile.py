"""Text that others wrote to break parsers and terminals: kept exactly, and shown harmless."""

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest

import memlog
from memlog.cli.terminal import steers, visible_lines
from tests.cli.running import Run

BODIES = Path(__file__).resolve().parents[3] / "shared" / "data" / "hostile.jsonl.gz"
OWN = (
    "\x1b[31mred\x1b[0m [bold]markup[/bold] [/nothing]",
    "\x1b]0;a window title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "\u202eright to left\u202c \u2066isolated\u2069",
    "ze\u200bro \ufeffwidth \u00ad \U000e0041\U000e0042 \ufe0f",
    "\x9b31m C1 \x85 \u2028 \u2029",
    "back\b\b\bspace \r over",
    "tab\there, two\nlines\n",
    "emoji 👨\u200d👩\u200d👧 部署 हिन्दी e\u0301",
)
WRITES_MAX = 60  # Each is a durable commit.


def hostile() -> list[str]:
    """Return the bodies, those that could steer a terminal first."""
    bodies = list(OWN)
    if BODIES.exists():
        with gzip.open(BODIES, "rt", encoding="utf-8") as lines:
            bodies += [json.loads(line)["text"] for line in lines]
    return sorted(dict.fromkeys(bodies), key=lambda body: not _steering(body))


def _steering(body: str) -> bool:
    return any(steers(character) for character in body if character not in "\n\t")


def accepted(body: str) -> bool:
    """Tell whether a body is one that a log keeps (the rules of DESIGN, section 6)."""
    return "\0" not in body and bool(body.strip()) and len(body.encode()) <= 32_000


def needs_data() -> None:
    if not BODIES.exists():
        pytest.skip(f"{BODIES.name} is not there: only the bodies of this file were tried")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of all accepted bodies, each also as the title of its note as far as one may go."""
    path = tmp_path_factory.mktemp("hostile") / "kept.db"
    with memlog.open(path) as log:
        log.scope("owner", "alice").write_many(
            [
                {"title": body[:100], "body": body, "slug": f"n{index}"}
                for index, body in enumerate(filter(accepted, hostile()))
                if body[:100].strip()
            ]
        )
    return path


def test_bodies_from_standard_input_come_back_byte_for_byte(alice: Run) -> None:
    bodies = [body for body in hostile() if accepted(body)]
    stride = max(1, len(bodies) // WRITES_MAX)
    chosen = {*bodies[: WRITES_MAX // 2], *bodies[::stride][: WRITES_MAX // 2], *OWN}
    for index, body in enumerate(sorted(chosen)):
        written = alice("write", "T", "--slug", f"n{index}", stdin=body.encode())
        assert written.code == 0, (body, written)
        assert alice("read", f"n{index}") == (0, body.encode(), ""), body


def test_bodies_that_the_rules_refuse_leave_the_log_unchanged(alice: Run) -> None:
    needs_data()
    alice("write", "T", "--body", "x")
    refused = [body for body in hostile() if not accepted(body)]
    assert refused
    for body in refused:
        ended = alice("write", "T", stdin=body.encode())
        assert (ended.code, ended.out) == (1, b""), body
        assert ended.err.startswith("memlog: body ")
        assert ended.err.count("\n") == 1
    assert len(alice("log").lines) == 1


def test_into_a_pipe_goes_every_byte(alice: Run, kept: Path) -> None:
    bodies = [body for body in hostile() if accepted(body) and body[:100].strip()]
    for index in [*range(150), *range(150, len(bodies), 50)]:
        if index < len(bodies):
            ended = alice("read", f"n{index}", "--db", str(kept))
            assert ended.out == bodies[index].encode(), bodies[index]


def test_lists_in_a_pipe_have_one_line_for_each_note(alice: Run, kept: Path) -> None:
    lines = alice("list", "--db", str(kept)).out.decode().split("\n")[:-1]

    assert len(lines) == len([b for b in hostile() if accepted(b) and b[:100].strip()])
    assert {line.count("\t") for line in lines} == {4}


def test_no_body_reaches_a_terminal_as_it_is() -> None:
    for body in hostile():
        shown = visible_lines(body)
        assert not any(steers(character) for character in shown if character not in "\n\t")


def _without_our_styles(shown: bytes) -> str:
    text = re.sub("\x1b\\[[012]m", "", shown.decode())
    return text.replace("\n", "").replace("\t", "")


@pytest.mark.parametrize(
    "command",
    [
        *("list", "list --json", "log", "log --json", "index", "index --json"),
        *("search '' --limit 9999 --explain", "search red --limit 9999 --json"),
    ],
)
def test_nothing_steers_a_terminal(command: str, alice: Run, kept: Path) -> None:
    shown = alice(*shlex.split(command), "--db", str(kept), terminal=True)

    assert shown.code == 0
    assert shown.out
    assert not any(map(steers, set(_without_our_styles(shown.out))))


def test_no_note_steers_a_terminal_when_it_is_read(alice: Run, kept: Path) -> None:
    bodies = [body for body in hostile() if accepted(body) and body[:100].strip()]
    for index, body in enumerate(bodies):
        if _steering(body):
            for more in ([], ["--json"]):
                shown = alice("read", f"n{index}", *more, "--db", str(kept), terminal=True)
                assert not any(map(steers, set(_without_our_styles(shown.out)))), body


def test_no_answer_to_a_request_steers_a_terminal(alice: Run) -> None:
    evil = OWN[0][:40]
    for slug in ("a", "b"):
        shown = alice("write", evil, "--slug", slug, "--body", "x", terminal=True)
    shown_link = alice("link", "a", "b", "related", "--label", evil, terminal=True)

    for out in (shown.out, shown_link.out):
        assert b"\\x1b[31m" in out
        assert not any(map(steers, _without_our_styles(out)))


def test_on_a_real_terminal_nothing_raw_escapes(
    alice: Run, run_on_terminal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "".join(OWN[:6])
    told = ("--topic", "t", "--source-note", evil, "--body", evil, "--pinned")
    alice("write", evil, "--slug", "evil", *told)
    alice("write", "other", "--body", "x", "--actor", "\u202eactor")
    alice("link", "evil", "other", "related", "--label", evil[:60])
    monkeypatch.setenv("NO_COLOR", "1")
    for command in (
        "read evil",
        "list",
        "search red",
        "index",
        "log",
        "history other",
        "read evil --json",
        f"read {evil}",
    ):
        verb, _, rest = command.partition(" ")
        arguments = [rest] if rest == evil else rest.split()
        shown = run_on_terminal(verb, *arguments).out.decode()
        assert "31m" in shown or "actor" in shown
        assert not any(map(steers, shown.replace("\n", "").replace("\t", ""))), shown


def test_colours_stop_where_nobody_wants_them(
    alice: Run, run_on_terminal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice("write", "Tea", "--body", "x")

    assert b"\x1b[1mTea\x1b[0m" in run_on_terminal("read", "tea").out
    monkeypatch.setenv("TERM", "dumb")
    assert b"\x1b" not in run_on_terminal("read", "tea").out
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b" not in run_on_terminal("read", "tea").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert alice("read", "tea").out == b"x"
