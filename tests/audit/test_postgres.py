"""The past of a log on PostgreSQL is made by the same code, from the same events."""

import memlog
from memlog.audit.matching import matching
from memlog.testing import START
from tests.audit.reads import everything


def test_the_past_of_a_log_on_postgresql(postgres_url: str) -> None:
    with memlog.open(postgres_url) as log:
        memory = log.scope("owner", "alice")
        memory.write(title="Tea", body="green", source={"url": "https://bad.example"})
        first_section = memory.section(conversation_id="c-1")
        first = everything(memory, now=START)
        memory.write(title="Oolong", body="half", topics=["hot"], pinned=True)
        memory.link("oolong", "tea", "derived_from")
        memory.link("oolong", "tea", "supersedes")
        last = [event.seq for event in memory.events()][-1]

        assert everything(memory.at(seq=1), now=START) == first
        assert everything(memory.at(seq=last), now=START) == everything(memory, now=START)
        assert memory.at(time=memory.at(seq=1).moment.time).seq >= 1
        assert memory.at(position=log.position()).seq == last
        assert [note.slug for note in memory.diff(1).added] == ["oolong"]
        taint = memory.taint(matching(url="https://bad.example"))
        assert [each.note.slug for each in taint.notes] == ["tea", "oolong"]
        assert taint.sections[0].conversation_id == "c-1"
        found = memory.prompt(first_section.hash)
        assert found is not None
        assert found.agrees
        assert memory.prompt("0" * 16) is None
