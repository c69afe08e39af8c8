"""One thing that was looked at."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["well", "known", "bad"]


class Symptom(msgspec.Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        name: what.
        state: `well`; `known`: worth knowing, nothing to do at once; `bad`: a promise of the log
            does not hold here, or soon will not.
        detail: what was found, and what to do.
    """

    name: str
    state: State
    detail: str


def sized(count: int) -> str:
    """Return a number of bytes in words."""
    amount, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1_000:  # noqa: PLR2004  # a kilobyte
            break
        amount, unit = amount / 1_000, larger
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"
