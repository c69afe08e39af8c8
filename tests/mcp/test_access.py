"""Tokens, names and places, without a server; and what the command refuses before it serves."""

import subprocess
from pathlib import Path

import pytest

from memlog import InvalidRequestError
from memlog.cli import main
from memlog.mcp_server.access import (
    Place,
    host_names,
    is_loopback,
    is_token,
    origins,
    parse_place,
    token_of,
)
from tests.mcp.serving import PYTHON, TOKEN, environment


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("127.0.0.1:8808", Place("127.0.0.1", 8808)),
        ("[::1]:0", Place("::1", 0)),
        ("8808", Place("127.0.0.1", 8808)),
        (":8808", Place("127.0.0.1", 8808)),
        ("notes.example:443", Place("notes.example", 443)),
    ],
)
def test_a_place_is_read(given: str, place: Place) -> None:
    assert parse_place(given) == place


@pytest.mark.parametrize(
    "given", ["", "localhost", "x:y", "x:65536", "x:-1", "x:٣", "x:" + "9" * 5_000]
)
def test_what_is_no_place_is_refused(given: str) -> None:
    with pytest.raises(InvalidRequestError, match="give HOST:PORT"):
        parse_place(given)


def test_only_loopback_is_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "10.0.0.1", "localhost.example")))  # noqa: S104  # what must not pass


def test_a_server_is_known_by_names_with_its_port() -> None:
    assert host_names("127.0.0.1", 8808) == ["127.0.0.1:8808", "[::1]:8808", "localhost:8808"]
    assert host_names("::1", 8808)[0] == "[::1]:8808"  # The one that is told to the user.
    assert host_names("notes.example", 80, ["proxy"]) == [
        "notes.example:80",
        "notes.example",
        "proxy",
    ]
    assert origins(["x:1"]) == ["http://x:1", "https://x:1"]


def test_a_token_is_the_whole_token() -> None:
    assert is_token(f"Bearer {TOKEN}", TOKEN)
    assert is_token(f"bearer  {TOKEN} ", TOKEN)
    for header in ("", "Bearer", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN[1:]}", "Bearer \udcff"):
        assert not is_token(header, TOKEN)


def test_the_file_wins_over_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o400)

    assert token_of({"MEMLOG_MCP_TOKEN": "other-token-0123"}, file) == TOKEN
    assert token_of({"MEMLOG_MCP_TOKEN": f" {TOKEN}"}, None) == TOKEN


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(mode)

    with pytest.raises(InvalidRequestError, match="others can use it; chmod 600 it"):
        token_of({}, file)


@pytest.mark.parametrize("token", ["short", "ü" * 20, "tab\t" * 8])
def test_a_weak_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InvalidRequestError, match="at least 16") as refused:
        token_of({"MEMLOG_MCP_TOKEN": token}, None)

    assert token not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--http", "127.0.0.1:0"], "set it, name a private file with --token-file"),
        (["--http", "x"], "give HOST:PORT"),
        (["--http", "0.0.0.0:0", "--no-token"], "without a token only loopback is served"),
        (["--no-token"], "a token is for HTTP"),
        (["--db", ":memory:"], "would be gone"),
        (["--scope", "x"], "give owner:NAME, or global"),
        (["--actor", "a\tb"], "without control characters"),
        (["--http", "127.0.0.1:0", "--token-file", "none"], "No such file"),
    ],
)
def test_a_wrong_call_is_refused_in_one_sentence(
    options: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.delenv("MEMLOG_MCP_TOKEN", raising=False)
    monkeypatch.setenv("MEMLOG_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("MEMLOG_SCOPE", "owner:alice")

    code = main(["mcp", *options])

    printed = capsys.readouterr()
    assert (code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert sentence in printed.err
    assert list(tmp_path.iterdir()) == []


_WITHOUT_THE_SDK = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "mcp":
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Absent())
from memlog.cli import main
sys.exit(main(["mcp", "--scope", "global"]))
"""


def test_without_the_sdk_it_says_what_to_install() -> None:
    command = [PYTHON[0], "-W", "error", "-c", _WITHOUT_THE_SDK]

    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "memlog: the server needs the official SDK: pip install 'agent-memlog[mcp]'\n"
    )


def test_the_server_starts_without_the_sdks_client() -> None:
    code = (
        "import sys\nfrom memlog.mcp_server.sdk import import_server\nimport_server()\n"
        "import memlog.mcp_server.protocol, memlog.mcp_server.stdio\n"
        "print([name for name in ('mcp.client', 'mcp.server.mcpserver', 'memlog.tools', 'numpy')"
        " if name in sys.modules])"
    )
    command = [PYTHON[0], "-W", "error", "-c", code]

    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )

    assert (done.stdout, done.stderr) == ("[]\n", "")
