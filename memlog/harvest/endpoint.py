"""Ask an OpenAI-compatible endpoint: one POST to `<base URL>/chat/completions`.

The environment has no part in it: neither proxies nor `.netrc` are looked at, and no redirect is
followed, so the key goes to the named host only. An endpoint that refuses structured output is
asked once more for plain text, which is parsed all the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from memlog.errors import InvalidRequestError
from memlog.harvest.timebox import NoAnswerError

_ANSWER_BYTES_MAX = 1_000_000
_PLAIN_PROMPT_BYTES_MAX = 200_000
_OK = 200
_REFUSED = frozenset({400, 413, 422})
_WAIT_MAX_S = 3_600.0

_TOO_LONG = "the answer is too long"
_NO_COMPLETION = "the endpoint's answer is no chat completion"
_NO_TEXT = "the endpoint's answer has no text"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model is asked.

    Attributes:
        base_url: such as `https://host/v1`.
        model: name of the model, as the endpoint knows it.
        api_key: bearer token, or None.
    """

    base_url: str
    model: str
    api_key: str | None

    def __post_init__(self) -> None:
        """Check the URL.

        Raises:
            InvalidRequestError: it is none of HTTP.
        """
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            rule = "give a callable, or the base URL of an endpoint such as 'https://host/v1'"
            raise InvalidRequestError("harvest_llm", self.base_url, rule)

    def ask(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], *, timeout_s: float
    ) -> str:
        """Return the text of the answer. Ends in time, however slowly the endpoint sends.

        Raises:
            NoAnswerError: there was none in time, or not a usable one.
        """
        return asyncio.run(self._ask(messages, schema, timeout_s))

    async def _ask(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], timeout_s: float
    ) -> str:
        import httpx

        structured = {
            "type": "json_schema",
            "json_schema": {"name": "facts", "strict": True, "schema": schema},
        }
        body = {"model": self.model, "messages": messages, "response_format": structured}
        try:
            async with (
                asyncio.timeout(timeout_s),
                httpx.AsyncClient(timeout=timeout_s, trust_env=False) as client,
            ):
                status, headers, answer = await self._post(client, body)
                if status in _REFUSED:
                    plain = {"model": self.model, "messages": _shorter(messages)}
                    status, headers, answer = await self._post(client, plain)
        except TimeoutError:
            reason = f"no whole answer within {timeout_s:g} s"
            raise NoAnswerError(reason) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = f"the endpoint cannot be reached ({type(error).__name__})"
            raise NoAnswerError(reason) from None
        if status != _OK:
            reason = f"the endpoint answered {status}"
            raise NoAnswerError(reason, _wait_s(headers.get("retry-after", "")))
        return _content(answer)

    async def _post(
        self,
        client: Any,  # noqa: ANN401  # httpx's, which is imported late
        body: Mapping[str, Any],
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        content = json.dumps(body).encode()
        async with client.stream("POST", url, headers=headers, content=content) as response:
            answer = bytearray()
            async for piece in response.aiter_raw():
                answer += piece
                if len(answer) > _ANSWER_BYTES_MAX:
                    raise NoAnswerError(_TOO_LONG)
            return response.status_code, response.headers, bytes(answer)


def _shorter(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return messages that also a small model can take: the end of a long one."""
    return [
        {**message, "content": message["content"][-_PLAIN_PROMPT_BYTES_MAX:]}
        for message in messages
    ]


def _wait_s(retry_after: str) -> float | None:
    """Return the seconds of a `Retry-After` header (RFC 9110, 10.2.3), or None for a date."""
    return min(float(retry_after), _WAIT_MAX_S) if retry_after.isdecimal() else None


def _content(answer: bytes) -> str:
    """Return the text of a chat completion."""
    try:
        content = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise NoAnswerError(_NO_COMPLETION) from None
    if isinstance(content, list):  # Some endpoints send it in parts.
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise NoAnswerError(_NO_TEXT)
    return content
