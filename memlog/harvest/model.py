"""Ask the model that the settings name: a callable, or an endpoint. Time-boxed.

A callable is called as `harvest_llm(messages, schema)`, with the messages of a chat (`role` and
`content`) and the JSON Schema of the answer. It returns the answer as JSON text or as what that
means: `{"facts": [{"title": …, "body": …, "topics": […]}, …]}`. It may be a coroutine function.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from memlog.errors import InvalidRequestError
from memlog.harvest import prompt
from memlog.harvest.endpoint import Endpoint
from memlog.harvest.timebox import within
from memlog.settings import Settings

_GRACE_S = 5.0  # The endpoint's own limit comes first, since it closes the connection.
UNNAMED = "unnamed"


class Model:
    """The model of a log's settings.

    Attributes:
        name: what the log will say was asked.
    """

    def __init__(self, settings: Settings, *, timeout_s: float) -> None:
        """Check that there is something to ask.

        Raises:
            InvalidRequestError: no model is set, or its endpoint is no URL, or needs a library
                that is not installed.
        """
        self.name = settings.harvest_model or UNNAMED
        self._facts_max, self._timeout_s = settings.harvest_max_facts, timeout_s
        self._call: Callable[..., Any] | None = None
        self._endpoint: Endpoint | None = None
        if callable(settings.harvest_llm):
            self._call = settings.harvest_llm
            return
        if not settings.harvest_llm:
            rule = "give a callable, or the base URL of an endpoint (MEMLOG_HARVEST_LLM)"
            raise InvalidRequestError("harvest_llm", settings.harvest_llm, rule)
        _check_httpx()
        self._endpoint = Endpoint(
            base_url=settings.harvest_llm, model=self.name, api_key=settings.harvest_api_key
        )

    def answer(self, transcript: str) -> object:
        """Return what the model answers about a transcript.

        Raises:
            NoAnswerError: it took too long, or failed.
        """
        messages = prompt.messages(transcript, facts_max=self._facts_max)
        schema = prompt.schema(facts_max=self._facts_max)
        endpoint, call = self._endpoint, self._call
        if endpoint is not None:
            return within(
                self._timeout_s + _GRACE_S,
                lambda: endpoint.ask(messages, schema, timeout_s=self._timeout_s),
            )
        assert call is not None
        return within(self._timeout_s, lambda: _called(call, messages, schema))


def _called(call: Callable[..., Any], messages: object, schema: object) -> object:
    answer = call(messages, schema)
    return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Any) -> object:  # noqa: ANN401  # any awaitable
    return await answer


def _check_httpx() -> None:
    try:
        import httpx  # noqa: F401  # only whether it is there
    except ImportError:
        rule = "an endpoint needs httpx; install agent-memlog[harvest]"
        raise InvalidRequestError("harvest_llm", "an URL", rule) from None
