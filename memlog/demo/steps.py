"""The steps of the demo: each does something to the notes and says what came of it.

Lines have at most 80 columns, and every number in them was counted or measured just then.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from textwrap import wrap

from memlog.cli.cells import cut
from memlog.cli.words import change_words, counted, event_words, origin_words, scope_name
from memlog.demo.topics import Topic, split, title_of
from memlog.errors import RuleError, format_error
from memlog.log import Log
from memlog.memory import Memory
from memlog.settings import Settings
from projections.notes import Fold

ACTOR = "demo"

_WIDTH = 78
_LOG_LINES = 6
_HITS_MAX = 3
_SNIPPET_LINES = 2
_SECTION_LINES = 6
_DIFF_LINES = 4
_QUERIES = ("catching exeptions", "unpacked iterables", "__getattr__", "lambda")
_TO_TRY = (
    "list",
    "read assert",
    "history lambda",
    "search 'catching exeptions'",
    "index",
    "timeline",
    "verify",
)

Say = Callable[[str], None]


def write_topics(memory: Memory, found: Sequence[Topic], *, say: Say) -> None:
    """Write every topic; one over the limit becomes several notes, linked `related`."""
    bytes_max = Settings().max_body_bytes
    size = sum(len(topic.text.encode()) for topic in found)
    _head(say, "Write: Python's own help topics become notes")
    _tell(
        say,
        f"{len(found)} topics of {platform.python_implementation()} {platform.python_version()}, "
        f"{size:,} bytes of text, for {scope_name(memory.scope)}. A body has at most "
        f"{bytes_max:,} bytes, so longer topics are split at their headings and the parts "
        "linked 'related'.",
    )
    began = time.perf_counter()
    for topic in found:
        parts = split(topic.text, bytes_max=bytes_max)
        _write_parts(memory, topic, parts)
        if len(parts) > 1:
            say(f"  {topic.name}: {len(topic.text.encode()):,} bytes in {len(parts)} notes")
    took = time.perf_counter() - began
    event_count = sum(1 for _ in memory.events())
    say(
        f"  {counted(len(memory.notes()), 'note')}, {counted(event_count, 'event')}; "
        f"{took * 1000 / event_count:.2f} ms each, and each one safe on disk"
    )


def _write_parts(memory: Memory, topic: Topic, parts: Sequence[str]) -> None:
    title = title_of(topic.text)
    memory.write(
        title=title, body=parts[0], slug=topic.name.lower(), topics=["python"], actor=ACTOR
    )
    for part in parts[1:]:
        written = memory.write(
            title=f"{title}: {title_of(part)}",
            body=part,
            topics=["python", topic.name],
            actor=ACTOR,
        )
        memory.link(topic.name.lower(), written.note.slug, "related", label="part", actor=ACTOR)


def rewrite(memory: Memory, *, say: Say) -> None:
    """Add a paragraph to a note; the version before stays in the log."""
    _head(say, "Rewrite: the same slug again replaces what a note says")
    old = memory.read("assert").note
    addition = "\nWith -O no assert statement runs, so never validate input with one.\n"
    written = memory.write(
        title=old.title,
        body=old.body + addition,
        slug=old.slug,
        topics=[*old.topics, "pitfalls"],
        if_seq=old.updated_seq,
        actor=ACTOR,
    )
    say(f"  {old.slug}: seq {old.updated_seq} -> {written.seq}, {len(addition)} bytes longer")


def supersede(memory: Memory, *, say: Say) -> None:
    """Let a new note take the place of an old one, which is history from then on."""
    _head(say, "Supersede: nothing is deleted, a better note takes over")
    written = memory.write(
        title="Lambdas, in one line",
        body="lambda x: x + 1 is a function without a name and without statements.\n",
        topics=["python"],
        actor=ACTOR,
    )
    new, old = written.note.slug, "lambda"
    memory.link(new, old, "supersedes", actor=ACTOR)
    say(f"  {new} supersedes {old}; {old} can still be read")
    try:
        memory.write(title="Lambdas", body="Changed after all.", slug=old, actor=ACTOR)
    except RuleError as refusal:
        _tell(say, f"Rewriting {old} is refused: {format_error(refusal)}.")


def pin_and_link(memory: Memory, *, say: Say) -> None:
    """Pin a note and link two."""
    _head(say, "Pin and link")
    memory.pin("assert", actor=ACTOR)
    memory.link("assert", "exceptions", "related", label="raises one", actor=ACTOR)
    say("  assert is pinned: its body, not only its title, is meant for the prompt")
    say("  assert is linked to exceptions")


def show_log(log: Log, *, say: Say) -> None:
    """Show the log's last events."""
    head = log.position()
    _head(say, f"The log: {counted(head, 'event')}, the last {_LOG_LINES}")
    for event in log.events(after=head - _LOG_LINES):
        say(f"  {event.position:>5}  {event.recorded_at:%H:%M:%S}  {event_words(event.payload)}")


def show_history(memory: Memory, slug: str, *, say: Say) -> None:
    """Show one note's history."""
    _head(say, f"The history of {slug}")
    for change in memory.history(slug):
        by = origin_words(change.actor, change.conversation_id)
        say(f"  seq {change.seq:>3}  {change.recorded_at:%H:%M:%S}  {change_words(change)}{by}")


def replay(log: Log, memory: Memory, *, say: Say) -> bool:
    """Fold the log in memory, and compare that with the tables."""
    _head(say, "Replay: the notes follow from the log alone")
    began = time.perf_counter()
    fold = Fold.of(memory.events())
    took = time.perf_counter() - began
    notes = {note.slug: note for note in memory.notes(limit=len(fold.notes) + 1)}
    links = {link for slug in notes for link in memory.read(slug).links}
    equal = (notes, links, memory.fingerprint()) == (fold.notes, set(fold.links), fold.fingerprint)
    say(
        f"  {counted(fold.last_seq, 'event')} checked and folded in {took * 1000:.0f} ms: "
        f"{counted(len(fold.notes), 'note')}, {counted(len(fold.links), 'link')}"
    )
    verdict = "the same as" if equal else "NOT the same as"
    say(f"  {verdict} in the tables of {Path(log.target).name}")
    return equal


def rebuild(log: Log, *, say: Say) -> tuple[str, ...]:
    """Make the notes tables anew from the log, and compare."""
    _head(say, "Rebuild: the tables anew from the log, compared and swapped")
    began = time.perf_counter()
    rebuilt = log.rebuild()
    took = time.perf_counter() - began
    found = "; ".join(rebuilt.differences) or "no difference"
    say(f"  {counted(rebuilt.events, 'event')} in {took * 1000:.0f} ms: {found}")
    return rebuilt.differences


def search(memory: Memory, *, say: Say) -> None:
    """Search with a misspelled word, other forms of words, an identifier, and for an old note."""
    _head(say, "Search: any words, best first")
    began = time.perf_counter()
    memory.search(_QUERIES[0])
    took = time.perf_counter() - began
    notes = counted(len(memory.notes()), "note")
    say(f"  {notes} indexed with the first search, in {took * 1000:,.0f} ms")
    for query in _QUERIES:
        began = time.perf_counter()
        hits = memory.search(query, limit=_HITS_MAX)
        took = time.perf_counter() - began
        say("")
        say(f"  {query}   ({took * 1000:.1f} ms)")
        for hit in hits[:1]:
            say(f"    {hit.slug}: {hit.title}")
            for line in wrap(hit.snippet, _WIDTH - 6)[:_SNIPPET_LINES]:
                say(f"      {line}")
        _tell(say, "  then " + (", ".join(hit.slug for hit in hits[1:]) or "nothing else"))


def section(memory: Memory, *, say: Say) -> str:
    """Show the section, and what changes its hash; return the last one."""
    _head(say, "The section: what goes into the system prompt, the same bytes each time")
    before = memory.section()
    lines = before.text.splitlines()
    say(f"  hash {before.hash}, {len(before.text.encode()):,} bytes:")
    say("")
    for line in [*lines[:_SECTION_LINES], "[...]", lines[-1]]:
        say(f"  {cut(line, _WIDTH)}".rstrip())
    say("")
    memory.read("assert")
    with suppress(RuleError):
        memory.write(title="Lambdas", body="Changed after all.", slug="lambda", actor=ACTOR)
    say(f"  {memory.section().hash} after a read and a refused write")
    memory.write(
        title="Lambdas, in one line, with defaults",
        body="lambda x, y=1: x + y is a function without a name and without statements.\n",
        slug="lambdas-in-one-line",
        topics=["python"],
        actor=ACTOR,
    )
    after = memory.section()
    say(f"  {after.hash} after a rewrite of lambdas-in-one-line")
    kept = "still gives" if memory.section_text(before.hash) == before.text else "does NOT give"
    say(f"  {before.hash} {kept} the text above, to the byte")
    return after.hash


def time_travel(memory: Memory, section_hash: str, *, say: Say) -> None:
    """Show a note as it was, what changed since, and the events behind a line of the section."""
    _head(say, "Time travel: any moment again, from the log alone")
    rewritten = memory.history("assert")[1]
    began = time.perf_counter()
    past = memory.at(seq=rewritten.seq - 1)
    body_bytes = len(past.read("assert").note.body.encode())
    took = time.perf_counter() - began
    notes = counted(len(past.notes()), "note")
    say(f"  at seq {past.seq}, {notes}, replayed in {took * 1000:.0f} ms:")
    say(f"  assert had {body_bytes:,} bytes, and its section the hash {past.section().hash}")
    (difference,) = memory.diff(past, rewritten.seq).rewritten
    say(f"  seq {rewritten.seq} changed {', '.join(difference.changed)} of {difference.slug}:")
    for line in difference.text_diff.splitlines()[-_DIFF_LINES:]:
        say(f"    {cut(line, _WIDTH - 4)}".rstrip())
    found = memory.prompt(section_hash)
    assert found is not None
    behind = next(line for line in found.lines if line.kind == "note")
    equal = "equal" if found.agrees else "NOT equal"
    say(f"  the section {section_hash}, rendered anew from events: {equal}; in it")
    say(f"    {cut(behind.text, _WIDTH - 4)}")
    say(f"  follows from seq {', '.join(map(str, behind.seqs))}")


def verify(log: Log, *, say: Say) -> bool:
    """Check all that is stored against the log, and say whether it holds."""
    _head(say, "Verification: bytes, rules, tree and tables, checked against the log")
    began = time.perf_counter()
    found = log.verify()
    took = time.perf_counter() - began
    held = sum(check.outcome == "ok" for check in found.checks)
    wrong = len(found.failed)
    events = counted(found.events, "event")
    say(f"  {events} in {took * 1000:.0f} ms: {held} checks hold, {wrong} found something wrong")
    say(f"  Merkle root {found.root}")
    return found.ok


def farewell(path: str, scope_given: str, *, program: str, say: Say) -> None:
    """Say where the file is and what to try on it."""
    _head(say, "Yours to try")
    say(f"  export MEMLOG_DB={quote(path)} MEMLOG_SCOPE={quote(scope_given)}")
    for words in _TO_TRY:
        say(f"  {program} {words}")


def _head(say: Say, words: str) -> None:
    say("")
    say(words)


def _tell(say: Say, words: str) -> None:
    for line in wrap(words, _WIDTH, initial_indent="  ", subsequent_indent="  "):
        say(line)
