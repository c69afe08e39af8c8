import pytest


@pytest.fixture(autouse=True)
def _few_words_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so few words wait that a short history files some of them."""
    monkeypatch.setattr("projections.notes.words.WAITING_POSTINGS", 12)
