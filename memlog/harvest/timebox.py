"""Run foreign code for a limited time, whatever it does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any


class NoAnswerError(Exception):
    """A model gave no usable answer; the next attempt may get one.

    Attributes:
        reason: why, in words of our own: never the model's, nor a foreign error's.
        wait_s: how long the endpoint asked to be left alone, or None.
    """

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason, wait_s)
        self.reason, self.wait_s = reason, wait_s


def within(timeout_s: float, call: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever it returns
    """Return what `call` returns, unless it takes too long or raises.

    It runs in a thread of its own, which is left behind when it does not come back: Python cannot
    end it. The thread does not keep the process from ending.

    Raises:
        NoAnswerError: it took longer than `timeout_s`, or raised.
    """
    ended: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            ended.put((call(), None))
        except BaseException as error:  # noqa: BLE001  # told to whoever waits
            ended.put((None, error))

    threading.Thread(target=run, name="memlog-harvest", daemon=True).start()
    try:
        answer, error = ended.get(timeout=timeout_s)
    except Empty:
        reason = f"no answer within {timeout_s:g} s"
        raise NoAnswerError(reason) from None
    if isinstance(error, NoAnswerError):
        raise error
    if error is not None:
        reason = f"the model raised {type(error).__name__}"
        raise NoAnswerError(reason) from None
    return answer
