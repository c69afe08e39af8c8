"""Notes for the tests of the section: a small team's memory, as large as a test asks for."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from memlog.note import NO_SOURCE, PROVENANCES, Note, Provenance, Source
from memlog.text import normalize_topics, slugify
from projections.digest.headline import Headline

FIRST_WRITTEN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)

# title | body, " / " between its lines | topics | provenance and pin
_HAND_WRITTEN = """
Deploy key rotates | On the first of each month, by the on-call. | deploy |
Staging resets at night | Data is gone at 03:00 UTC. | deploy staging |
Ana prefers short answers | Three sentences at most. | people | user
Billing runs on the 3rd | Never deploy on that day. | billing deploy |
支払いは月末締め | 翌月末に振り込む。 | billing |
Stripe retries webhooks for 3 days | Handlers must be idempotent. | billing | web
Rollback: redeploy the tag before | make deploy TAG=… | deploy |
CI needs Docker 27 | Older ones lack the cache mount. | ci |
Flaky: test_upload_large | Times out on slow disks; rerun once. | ci tests |
Postgres 16 since October | 15 is gone everywhere. | database |
Long migrations lock orders | Use CREATE INDEX CONCURRENTLY. | database |
Read replica lags by up to 9 s | Read your writes: primary. | database |
Who decides on schema changes | Ana, then Wei. | people database |
Wei is away in December | Ask Tomás. | people | compaction
Das Logo darf nicht skaliert werden | Nur Originalgrößen. | design |
Colours come from tokens.json | Never hex in a component. | design frontend |
Bundle limit is 300 kB | CI fails above it. | frontend ci |
Safari 17 lacks the popover polyfill | Load it by hand. | frontend | web
API v1 ends on 2027-03-31 | Three customers still use it. | api |
Rate limit: 600 a minute per key | 429 carries Retry-After. | api | import
Errors are RFC 9457 documents | Content type problem+json. | api |
Customer Nordlicht wants SSO | SAML, by spring. | customers |
Customer Aoki pays by invoice | Net 60. | customers billing |
Grafana: board “orders” | p95 alert at 800 ms. | monitoring |
Pager quiet hours 22-07 | Except SEV1. | monitoring people |
Scratch ideas for the retro | Fewer meetings. | |
Deploys freeze from 18 December | Until 4 January. | deploy |
Backups are tested on Mondays | Restore into staging. | database ops |
House rules | Run `make test` before a commit. / Never force-push to main. | rules | user pinned
Answer Ana in Spanish | She reads English, but asked for it. | people | user pinned
""".strip().splitlines()
_AREAS = (
    "deploy", "billing", "database", "api", "frontend", "people", "customers", "ci", "monitoring",
    "security", "search", "mobile", "design", "legal", "hiring", "onboarding", "data", "support",
)  # fmt: skip
_FACTS = (
    "owner changed", "limit raised", "decision", "known bug", "workaround", "contact", "deadline",
    "how to test", "open question", "measured latency", "naming rule", "root cause",
)  # fmt: skip


def written_at(number: int) -> datetime:
    """Return when the example of this number was written: five hours apart."""
    return FIRST_WRITTEN + timedelta(hours=5 * number)


def note(
    number: int = 1,
    *,
    slug: str | None = None,
    title: str = "A title",
    body: str = "A body.",
    topics: tuple[str, ...] = (),
    provenance: Provenance = "agent",
    confidence: float = 1.0,
    source: Source = NO_SOURCE,
    pinned: bool = False,
) -> Note:
    """Return a note whose seq and time come from its number."""
    return Note(
        slug=f"n{number}" if slug is None else slug,
        title=title,
        body=body,
        topics=topics,
        confidence=confidence,
        provenance=provenance,
        source=source,
        pinned=pinned,
        created_seq=number,
        written_seq=number,
        updated_seq=number,
        created_at=written_at(number),
        written_at=written_at(number),
    )


def team_memory(count: int) -> list[Note]:
    """Return `count` notes, oldest first: generated ones, then the thirty written by hand."""
    generated = max(0, count - len(_HAND_WRITTEN))
    return [*_generated(generated), *_hand_written(generated, count - generated)]


def _generated(count: int) -> Iterator[Note]:
    for number in range(1, count + 1):
        area = _AREAS[number * number % 17]  # some areas get many notes, some few
        topic = area if number % 3 else f"{area}-{number % 7}.{number // 400}"
        title = f"{area.capitalize()}: {_FACTS[number % 12]} in week {number // 34}, case {number}"
        provenance: Provenance = "web" if number % 9 == 4 else "agent"
        topics = (topic, "weekly") if number % 20 else ()
        yield note(number, slug=slugify(title), title=title, topics=topics, provenance=provenance)


def _hand_written(offset: int, count: int) -> Iterator[Note]:
    for number, row in enumerate(_HAND_WRITTEN[:count], offset + 1):
        title, body, topics, facts = (cell.strip() for cell in row.split("|"))
        named = (each for each in PROVENANCES if each in facts.split())
        provenance: Provenance = next(named, "agent")
        yield note(
            number,
            slug=slugify(title),
            title=title,
            body=body.replace(" / ", "\n"),
            topics=normalize_topics(topics.split()),
            provenance=provenance,
            confidence=0.3 if provenance == "compaction" else 1.0,
            pinned="pinned" in facts,
        )


def headlines(notes: list[Note]) -> list[Headline]:
    """Return what the section reads of the notes that are not pinned."""
    return [Headline.of(each) for each in notes if not each.pinned]


def pins(notes: list[Note]) -> list[Note]:
    """Return the pinned notes."""
    return [each for each in notes if each.pinned]
