"""The worker against a real server that speaks the protocol, well and badly."""

import json
from pathlib import Path
from typing import Any

import pytest

from memlog import InvalidRequestError, Log
from memlog.harvest import Worker, enqueue, listed
from tests.harvest.conftest import ALICE, Clock, Open, queue
from tests.harvest.endpoint import Endpoint, Reply, answer, completion, fact
from tests.harvest.secrets import PLACES, TOKENS
from tests.harvest.test_worker import KEY_ROTATES, harvested, run

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"


def test_a_fact_comes_from_the_endpoint(log: Log, endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(answer(KEY_ROTATES))]
    queue(log)

    done = run(log)

    assert done.slugs == ("deploy-key-rotates",)
    assert harvested(log.scope(ALICE))[0].model == "small"
    (request,) = endpoint.requests
    assert request["model"] == "small"
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["response_format"]["json_schema"]["strict"] is True
    assert endpoint.paths == ["/v1/chat/completions"]
    assert endpoint.authorizations == ["Bearer key-1"]


def test_text_in_parts_is_read(log: Log, endpoint: Endpoint) -> None:
    text = json.dumps({"facts": [KEY_ROTATES]})
    parts = [{"type": "text", "text": text[:20]}, {"type": "text", "text": text[20:]}]
    endpoint.replies = [Reply(completion(parts))]
    queue(log)

    assert run(log).outcome == "kept"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(b"oops", status=500), "the endpoint answered 500"),
        (Reply(b"slow down", status=429), "the endpoint answered 429"),
        (Reply(b"", status=401), "the endpoint answered 401"),
        (Reply(b"", status=302, headers=[("Location", "/v1/other")]), "the endpoint answered 302"),
        (Reply(b"<html>"), "the endpoint's answer is no chat completion"),
        (Reply(b'{"choices": []}'), "the endpoint's answer is no chat completion"),
        (Reply(b"[" * 100_000), "the endpoint's answer is no chat completion"),
        (Reply(completion(None)), "the endpoint's answer has no text"),
        (Reply(completion("Sure, here you are!")), "the answer is no JSON"),
        (Reply(completion('{"facts": [{"title": ')), "the answer is no JSON"),
        (Reply(b"x" * 1_000_001), "the answer is too long"),
    ],
)
def test_a_failure_is_tried_again_later(
    log: Log, endpoint: Endpoint, clock: Clock, reply: Reply, reason: str
) -> None:
    endpoint.replies = [reply, Reply(answer(KEY_ROTATES))]
    queue(log)

    failed = run(log)

    assert (failed.outcome, failed.reason) == ("failed", reason)
    assert log.position() == 0
    clock.move(seconds=31)
    assert run(log).outcome == "kept"
    assert len(endpoint.received) == 2


def test_an_endpoint_that_asks_for_time_gets_it(log: Log, endpoint: Endpoint, clock: Clock) -> None:
    limited = Reply(status=429, headers=[("Retry-After", "600")])
    endpoint.replies = [limited, Reply(answer(KEY_ROTATES))]
    queue(log)

    run(log)

    clock.move(seconds=599)
    assert Worker(log).run() == []
    clock.move(seconds=2)
    assert run(log).outcome == "kept"


def test_an_endpoint_without_structured_output_is_asked_for_text(
    log: Log, endpoint: Endpoint
) -> None:
    endpoint.replies = [Reply(b"unknown field", status=400), Reply(answer(KEY_ROTATES))]
    queue(log)

    assert run(log).outcome == "kept"

    first, second = endpoint.requests
    assert ("response_format" in first, "response_format" in second) == (True, False)


@pytest.mark.parametrize("drips_headers", [True, False])
def test_an_endpoint_that_drips_is_hung_up_on(
    log: Log, endpoint: Endpoint, *, drips_headers: bool
) -> None:
    endpoint.replies = [
        Reply(answer(KEY_ROTATES), drip_s=0.02, drips_headers=drips_headers),
        Reply(answer(KEY_ROTATES)),
    ]
    queue(log)

    done = run(log, timeout_s=0.3)

    assert (done.outcome, done.reason) == ("failed", "no whole answer within 0.3 s")
    assert log.position() == 0


def test_an_endpoint_that_is_not_there_is_tried_again_later(open_log: Open) -> None:
    log = open_log(harvest_llm="http://127.0.0.1:9/v1")  # The discard port: nobody listens.
    queue(log)

    done = run(log)

    assert (done.outcome, done.reason) == (
        "failed",
        "the endpoint cannot be reached (ConnectError)",
    )


@pytest.mark.parametrize("url", ["ftp://x/v1", "http://", "localhost:8000", "/v1"])
def test_a_base_url_must_be_one_of_http(open_log: Open, url: str) -> None:
    with pytest.raises(InvalidRequestError, match="give a callable, or the base URL"):
        Worker(open_log(harvest_llm=url))


def test_the_environment_has_no_part_in_it(
    log: Log, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    queue(log)

    assert run(log).outcome == "kept"
    assert len(endpoint.received) == 1


def test_no_planted_secret_reaches_the_endpoint_or_the_log(
    log: Log, endpoint: Endpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    texts = [*TOKENS.values(), *(text for text, _ in PLACES.values())]
    secrets = [*TOKENS.values(), *(each for _, held in PLACES.values() for each in held)]
    leaks = [fact(f"Leak {number}", f"It is this: {text}") for number, text in enumerate(texts)]
    endpoint.replies = [Reply(answer(*leaks, KEY_ROTATES))]
    enqueue(log, ALICE, key="c-1", entries=texts, system="\n".join(texts))

    done = run(log)

    assert done.dropped == {"secret": len(texts)}
    assert len(log.scope(ALICE).notes()) == 1
    log.close()
    seen = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    everything = b"".join([*seen, *endpoint.received, caplog.text.encode()])
    assert b"masked" in everything
    assert [each for each in secrets if each.encode() in everything] == []


def _entries(path: Path) -> list[Any]:
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    conversation: list[Any] = json.loads(text)["conversation_list"]
    return conversation


@pytest.mark.skipif(
    not TRANSCRIPTS.exists(), reason="../shared/data/transcripts is not here: none was harvested"
)
def test_real_transcripts_are_harvested(log: Log, endpoint: Endpoint) -> None:
    paths = sorted(TRANSCRIPTS.glob("*.json*"))
    assert paths
    for path in paths:
        entries = _entries(path)
        endpoint.replies = [Reply(answer(fact(path.stem, f"What {path.stem} said of {path.name}")))]
        queue(log, path.stem, *entries)
        (job,) = listed(log)
        assert job.entries_bytes > 1_000

        done = run(log)

        assert (done.outcome, len(done.slugs)) == ("kept", 1)
        document = endpoint.requests[-1]["messages"][1]["content"].partition("\n")[2]
        assert len(json.loads(document)["entries"]) == len(entries)
    assert len(harvested(log.scope(ALICE))) == len(paths)
