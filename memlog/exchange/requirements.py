"""What to say when a package of the extra `markdown` is not installed."""

from __future__ import annotations

from memlog.errors import InvalidRequestError


def missing(package: str) -> InvalidRequestError:
    """Return the error for whoever wants Markdown without a package that it needs."""
    rule = f"it needs {package}: pip install 'agent-memlog[markdown]'"
    return InvalidRequestError("format", "markdown", rule)
