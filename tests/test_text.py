"""Slugs, topics, words and times: what strings become, and that they always become the same."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies

from memlog import text

SLUGS = strategies.from_regex(r"[a-z0-9][a-z0-9._-]{0,79}", fullmatch=True)
# Dashes, digits and short stems are where numbering could go wrong.
NUMBERISH_SLUGS = strategies.from_regex(r"[a1][a10.-]{0,79}", fullmatch=True)
NUMBERS = strategies.one_of(
    strategies.integers(2, 10**15 - 1),
    strategies.integers(1, 14).map(lambda digits: 10**digits),
    strategies.integers(1, 15).map(lambda digits: 10**digits - 1),
)
MARKS = "".join(
    chr(code) for code in range(0x3100) if unicodedata.category(chr(code)).startswith("M")
)
# Case foldings that grow, signs that decompose, Hangul jamo, and separators.
TRICKY = "ßſẞİıŉǰΐΰᾳᾼῼῢﬀﬃ²½ⅧＡｶﾞ≮≠ͅ᾽΄¨\u1100\u1161\u11a8 -_.~/-"
UNICODE = strategies.one_of(
    strategies.text(),
    strategies.text(strategies.sampled_from(TRICKY + MARKS), max_size=12),
)


# --- Lengths and alphabets


@pytest.mark.parametrize(
    ("string", "length"), [("", 0), ("tea", 3), ("é", 2), ("茶", 3), ("🍵", 4), ("e\u0301", 3)]
)
def test_the_byte_length_is_that_of_utf_8(string: str, length: int) -> None:
    assert text.byte_length(string) == length


@pytest.mark.parametrize(
    ("string", "expected"),
    [("", False), ("tea", False), ("茶🍵", False), ("\ud800", True), ("tea\udfff", True)],
)
def test_a_lone_surrogate_is_found_anywhere(string: str, *, expected: bool) -> None:
    assert text.has_lone_surrogate(string) is expected


@pytest.mark.parametrize("character", ["\0", "\t", "\n", "\x1b", "\x1f", "\x7f", "\x80", "\x9f"])
def test_c0_del_and_c1_are_control_characters(character: str) -> None:
    assert text.has_control_character(f"a{character}b")


@pytest.mark.parametrize("character", ["", " ", "~", "\xa0", "é", "\u200b", "\u202e", "\u2028"])
def test_spaces_and_format_characters_are_no_control_characters(character: str) -> None:
    assert not text.has_control_character(f"a{character}b")


# --- Slugs


@pytest.mark.parametrize("slug", ["a", "0", "tea", "a.b_c-d", "a-", "a..b", "9" * 80])
def test_a_slug_is_up_to_80_of_its_alphabet(slug: str) -> None:
    assert text.is_slug(slug)


@pytest.mark.parametrize(
    "slug",
    ["", "-a", ".a", "_a", "A", "tEa", "a b", "tea\n", "\ntea", "../x", "a/b", "é", "²", "a" * 81],
)
def test_what_is_not_a_slug_is_not_taken_for_one(slug: str) -> None:
    assert not text.is_slug(slug)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Deploy key rotates", "deploy-key-rotates"),
        ("  Deploy -- key, (rotates)! ", "deploy-key-rotates"),
        ("Café déjà vu", "cafe-deja-vu"),
        ("Cafe\u0301 de\u0301ja\u0300 vu", "cafe-deja-vu"),
        ("ﬁne print", "fine-print"),
        ("x² ＡＢＣ Ⅷ", "x2-abc-viii"),
        ("İstanbul", "istanbul"),
        ("K is the Kelvin sign", "k-is-the-kelvin-sign"),
        ("Straße", "stra-e"),
        ("C++ & CLAUDE.md", "c-claude-md"),
        ("snake_case", "snake-case"),
        ("version 1.2.3", "version-1-2-3"),
        ("東京 2020", "2020"),
        ("日本", "n-cf2abf0c5b"),
        ("!!!", "n-e84c538e7f"),
    ],
)
def test_a_title_gives_its_words_as_a_slug(title: str, slug: str) -> None:
    assert text.slugify(title) == slug


def test_titles_without_latin_words_give_one_slug_in_every_normal_form() -> None:
    composed, decomposed = "が", "か\u3099"

    assert text.slugify(composed) == text.slugify(decomposed) == "n-e3b21956ce"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("a" * 80, "a" * 80),
        ("a" * 81, "a" * 80),
        ("a" * 80 + " b", "a" * 80),
        ("a" * 79 + " b", "a" * 79),
        ("a" * 78 + " b", "a" * 78 + "-b"),
        ("a" * 78 + " bc", "a" * 78),
        ("a b " + "c" * 90, "a-b"),
        ("x " + "a" * 78 + " b", "x-" + "a" * 78),
        ("x " + "a" * 79 + " b", "x"),
    ],
)
def test_a_long_title_is_cut_at_80_characters_between_words(title: str, slug: str) -> None:
    assert text.slugify(title) == slug


@given(UNICODE)
def test_every_title_gives_a_slug_and_that_slug_gives_itself(title: str) -> None:
    slug = text.slugify(title)

    assert text.is_slug(slug)
    assert text.slugify(slug) == slug


@given(strategies.text(strategies.characters(codec="ascii")).map(lambda ascii_: f"x{ascii_}"))
def test_a_mark_that_is_dropped_changes_no_slug(title: str) -> None:
    assert text.slugify(title) == text.slugify(f"{title}\u0301")


def test_a_hashed_slug_is_ten_digits_of_the_name() -> None:
    assert text.hashed_slug("日本") == "n-cf2abf0c5b"


@pytest.mark.parametrize(
    ("slug", "stem", "number"),
    [
        ("tea", "tea", 1),
        ("tea-2", "tea", 2),
        ("tea-10", "tea", 10),
        ("tea-1", "tea-1", 1),
        ("tea-1-2", "tea-1", 2),
        ("tea-0", "tea-0", 1),
        ("tea-02", "tea-02", 1),
        ("tea-2x", "tea-2x", 1),
        ("tea2", "tea2", 1),
        ("tea--2", "tea-", 2),
        ("7", "7", 1),
        ("7-7", "7", 7),
        ("tea-999999999999999", "tea", 999_999_999_999_999),
        ("tea-1000000000000000", "tea-1000000000000000", 1),
    ],
)
def test_a_slug_is_a_stem_and_a_number(slug: str, stem: str, number: int) -> None:
    assert text.split_number(slug) == (stem, number)


@given(SLUGS | NUMBERISH_SLUGS)
def test_stem_and_number_are_nothing_but_the_slug(slug: str) -> None:
    stem, number = text.split_number(slug)

    assert slug == (stem if number == 1 else f"{stem}-{number}")


@given(SLUGS | NUMBERISH_SLUGS, NUMBERS)
def test_a_stem_that_fits_comes_back_from_its_numbered_slug(stem: str, number: int) -> None:
    stem = stem[: 80 - len(f"-{number}")].rstrip("-._")

    slug = text.numbered_slug(stem, number)

    assert slug == f"{stem}-{number}"
    assert text.split_number(slug) == (stem, number)


@pytest.mark.parametrize(
    ("stem", "number", "slug"),
    [
        ("a" * 78, 2, "a" * 78 + "-2"),
        ("a" * 79, 2, "a" * 78 + "-2"),
        ("a" * 80, 2, "a" * 78 + "-2"),
        ("a" * 80, 10, "a" * 77 + "-10"),
        ("a" * 80, 999_999_999_999_999, "a" * 64 + "-999999999999999"),
        ("a" * 77 + "-bc", 2, "a" * 77 + "-2"),
        ("a" * 75 + "-._bc", 2, "a" * 75 + "-2"),
    ],
)
def test_a_long_stem_is_cut_so_that_the_number_fits(stem: str, number: int, slug: str) -> None:
    assert text.numbered_slug(stem, number) == slug


@given(SLUGS | NUMBERISH_SLUGS, NUMBERS)
def test_a_numbered_slug_is_a_slug_filed_under_one_of_the_numbering_stems(
    stem: str, number: int
) -> None:
    slug = text.numbered_slug(stem, number)

    assert text.is_slug(slug)
    assert text.split_number(slug)[1] == number
    assert text.split_number(slug)[0] in text.numbering_stems(stem)


def test_a_short_stem_is_numbered_under_itself_only() -> None:
    assert text.numbering_stems("tea") == ("tea",)
    assert text.numbering_stems("tea-2") == ("tea-2",)
    assert text.numbering_stems("a" * 64) == ("a" * 64,)


def test_a_stem_of_80_characters_is_numbered_under_each_of_its_cuts() -> None:
    assert text.numbering_stems("a" * 80) == tuple("a" * length for length in range(78, 63, -1))


# --- Topics and words


@pytest.mark.parametrize(
    ("raw", "topic"),
    [
        ("deploy", "deploy"),
        ("Deploy Keys", "deploy-keys"),
        ("  --deploy--  ", "deploy"),
        ("a / b", "a-b"),
        ("a---b", "a---b"),
        ("C++", "c"),
        ("node.js", "node.js"),
        ("snake_case", "snake_case"),
        ("é.b_c-d", "é.b_c-d"),
        ("._é_.", "._é_."),
        ("Straße", "strasse"),
        ("ＡＢＣ", "abc"),
        ("x²", "x2"),
        ("½", "1-2"),
        ("Ⅷ", "viii"),
        ("हिन्दी", "हिन्दी"),
        ("עִבְרִית", "עִבְרִית"),
        ("日本語 メモ", "日本語-メモ"),
        ("二〇二六", "二〇二六"),
        ("٣", "٣"),
        ("Cafe\u0301", "café"),
        ("tab\tnew\nline", "tab-new-line"),
        ("zero\u200bwidth", "zero-width"),
        ("é!", "é"),
    ],
)
def test_a_topic_has_one_stored_form(raw: str, topic: str) -> None:
    assert text.normalize_topics([raw]) == (topic,)


@pytest.mark.parametrize("raw", ["", " ", "-", "🙂", "+++", "\u200b", "--- ---"])
def test_a_topic_without_any_kept_character_is_dropped(raw: str) -> None:
    assert text.normalize_topics([raw]) == ()


def test_topics_keep_the_order_of_their_first_mention() -> None:
    topics = ["Zebra", "apple", "zebra ", "APPLE", "", "Mango"]

    assert text.normalize_topics(topics) == ("zebra", "apple", "mango")


@given(strategies.lists(UNICODE, max_size=4))
def test_normalised_topics_are_their_own_normal_form(raw: list[str]) -> None:
    topics = text.normalize_topics(raw)

    assert text.normalize_topics(topics) == topics


@given(UNICODE)
def test_a_topic_holds_letters_marks_digits_and_three_signs_only(raw: str) -> None:
    for topic in text.normalize_topics([raw]):
        assert topic == unicodedata.normalize("NFC", topic)
        assert topic == topic.strip("-")
        for character in topic:
            category = unicodedata.category(character)
            assert character in "._-〇" or category[0] in "LM" or category == "Nd"


@given(strategies.text(strategies.characters(codec="ascii")))
def test_ascii_is_folded_like_any_other_text(string: str) -> None:
    assert text.fold(string) == text.fold(f"{string}é")[:-1]


@pytest.mark.parametrize(
    ("left", "right"),
    [("Straße", "STRASSE"), ("ﬁ", "FI"), ("Cafe\u0301", "CAFÉ"), ("ｶﾞ", "ガ"), ("ΑΣ", "ας")],
)
def test_folding_makes_spellings_of_one_word_equal(left: str, right: str) -> None:
    assert text.fold(left) == text.fold(right)


@pytest.mark.parametrize(
    ("title", "topics", "words"),
    [
        ("", [], set()),
        ("Deploy key, deploy!", [], {"deploy", "key"}),
        ("Tea", ["hot-drinks", "node.js"], {"tea", "hot", "drinks", "node", "js"}),
        ("user_id v1.2", [], {"user", "id", "v1", "2"}),
        ("Café", [], {"café"}),
        ("हिन्दी", [], {"हिन्दी"}),
        ("東京都", [], {"東京", "京都"}),
        ("茶", [], {"茶"}),
        ("二〇二六", [], {"二〇", "〇二", "二六"}),
        ("green茶color", [], {"green", "茶", "color"}),
        ("한국어", [], {"한국", "국어"}),
        ("ｶﾞｲﾄﾞ", [], {"ガイ", "イド"}),
        ("東 京", [], {"東", "京"}),
        ("東", ["京"], {"東", "京"}),
    ],
)
def test_words_are_folded_runs_and_character_bigrams(
    title: str, topics: list[str], words: set[str]
) -> None:
    assert text.words(title, topics) == words


@given(
    strategies.lists(UNICODE, min_size=1, max_size=4).flatmap(
        lambda parts: strategies.tuples(strategies.just(parts), strategies.permutations(parts))
    )
)
def test_words_do_not_depend_on_the_order_of_title_and_topics(
    orders: tuple[list[str], list[str]],
) -> None:
    one, other = orders

    assert text.words(one[0], one[1:]) == text.words(other[0], other[1:])


@given(strategies.text(strategies.characters(codec="ascii")))
def test_ascii_words_are_found_like_any_other_words(string: str) -> None:
    assert text.words(string, []) | {"é"} == text.words(string, ["é"])


# First and last code point of each run that is written without spaces.
CJK = [
    (0x1100, 0x11FF),
    (0x3005, 0x3007),
    (0x3041, 0x30FF),
    (0x3131, 0x318E),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
]


@pytest.mark.parametrize(("first", "last"), CJK)
def test_han_kana_and_hangul_are_written_without_spaces(first: int, last: int) -> None:
    assert text.is_cjk(chr(first))
    assert text.is_cjk(chr(last))
    assert not text.is_cjk(chr(first - 1))
    assert not text.is_cjk(chr(last + 1))


@pytest.mark.parametrize("character", "々ぁアー㐀一가豈𠀀𰻝")
def test_a_character_of_east_asia_is_cjk(character: str) -> None:
    assert text.is_cjk(character)


@pytest.mark.parametrize("character", ["a", "é", "ह", "\u10ff", "、", "ꀀ", "🙂", "\ufb00"])
def test_other_scripts_and_signs_are_not_cjk(character: str) -> None:
    assert not text.is_cjk(character)


@pytest.mark.parametrize(
    ("left", "right", "score"),
    [
        ("", "", 0.0),
        ("a", "", 0.0),
        ("a", "b", 0.0),
        ("a b", "a b", 1.0),
        ("a b", "b c", 1 / 3),
        ("a b c d", "a b", 0.5),
    ],
)
def test_jaccard_is_the_share_of_common_words(left: str, right: str, score: float) -> None:
    words, others = frozenset(left.split()), frozenset(right.split())

    assert text.jaccard(words, others) == text.jaccard(others, words) == score


# --- Times


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 11, 30, 19, 15, tzinfo=UTC), "2026-11-30T19:15:00.000000Z"),
        (datetime(2026, 11, 30, 19, 15, 1, 20, tzinfo=UTC), "2026-11-30T19:15:01.000020Z"),
        (
            datetime(2026, 12, 1, 0, 45, tzinfo=timezone(timedelta(hours=5, minutes=30))),
            "2026-11-30T19:15:00.000000Z",
        ),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC), "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_is_utc_with_six_digits(moment: datetime, expected: str) -> None:
    assert text.utc_text(moment) == expected


OFFSETS = strategies.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = strategies.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001  # the strategy adds the zone
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001  # as above
    timezones=OFFSETS,
)


@given(MOMENTS, MOMENTS)
def test_time_texts_come_back_and_sort_as_the_moments_do(one: datetime, other: datetime) -> None:
    assert text.utc_moment(text.utc_text(one)) == one
    assert text.utc_moment(text.utc_text(one)).utcoffset() == timedelta(0)
    assert (text.utc_text(one) < text.utc_text(other)) == (one < other)
