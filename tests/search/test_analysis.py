"""What is found by which words: scripts, accents and identifiers."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from whoosh.lang.snowball.english import EnglishStemmer

from projections.search import Weights, WhooshBackend
from projections.search.analysis import STOP_WORDS, analyzed, normalized, words_of
from projections.search.query import TERMS_MAX, QueryTerm, query_terms, rarest
from projections.search.stemming import stem
from tests.search.notebook import START, Notebook

# note, query that must find it
HITS = [
    ("We write it in C++ and Rust", "C++"),
    ("Ported the C# client", "c#"),
    ("Add user_id to the table", "user_id"),
    ("Add user_id to the table", "user id"),
    ("Add user_id to the table", "id of the user"),
    ("Call getUserName before login", "getUserName"),
    ("Call getUserName before login", "getusername"),
    ("Call getUserName before login", "user name"),
    ("Call HTTPServer.start", "http server"),
    ("Rules live in CLAUDE.md", "CLAUDE.md"),
    ("Rules live in CLAUDE.md", "claude"),
    ("Released v1.2.3 today", "v1.2.3"),
    ("Released v1.2.3 today", "1.2.3"),
    ("Mail bob.smith@example.com about it", "bob.smith@example.com"),
    ("Mail bob.smith@example.com about it", "example.com"),
    ("See https://docs.example.org/guide/setup?tab=2", "https://docs.example.org/guide/setup"),
    ("See https://docs.example.org/guide/setup?tab=2", "setup guide"),
    ("Set MAX_BODY_BYTES to 32000", "max_body_bytes"),
    ("the __init__ method", "__init__"),
    ("x-api-key header", "api key"),
    ("don't panic", "dont panic"),
    ("don\u2019t panic", "don't"),
    ("Alice\u2019s keys", "alice"),
    ("The deployments were running", "deployment run"),
    ("部署密钥每月轮换", "密钥"),
    ("部署密钥每月轮换", "轮换密钥"),
    ("東京都に住んでいます", "東京"),
    ("コーヒーを飲みます", "コーヒー"),
    ("배포 키는 매달 바뀝니다", "배포"),
    ("서울에서 만나요", "서울"),
    ("परिनियोजन कुंजी हर महीने बदलती है", "कुंजी"),
    ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
    ("مفتاح النشر يتغير كل شهر", "النشر"),
    ("كِتَابٌ جديد", "كتاب"),
    ("كـــتاب جديد", "كتاب"),
    ("Khóa triển khai thay đổi", "triển khai"),
    ("Khóa triển khai thay đổi", "trien khai"),
    ("Die Straße in Köln", "strasse"),
    ("Die Straße in Köln", "koln"),
    ("Un café à Orléans", "cafe orleans"),
    ("un cafe", "CAFÉ"),
    ("Ключ развёртывания", "развертывания"),
    ("Ключи развёртывания", "ключ"),
    ("Το κλειδί αλλάζει", "κλειδι"),
    ("שָׁלוֹם עולם", "שלום"),
    ("ＡＢＣ full width", "abc"),
    ("ﬁle ligature", "file"),
    ("pre\u200cfix with a joiner", "prefix"),
    ("ပြောင်းလဲသည်", "ပြောင်း"),
    ("ការផ្លាស់ប្តូរ", "ផ្លាស់"),
    ("ПРИВЕТ", "привет"),
    ("İstanbul", "istanbul"),
]


@pytest.mark.parametrize(("note", "query"), HITS)
def test_a_note_is_found_by(note: str, query: str) -> None:
    notes = Notebook()
    notes.write("other", title="Lorem", body="Nothing to see here, move along")
    notes.write("it", title="t", body=note)
    backend = WhooshBackend(None)

    hits = backend.search(notes, query, now=START, weights=Weights(recency_weight=0.0))

    assert [hit.slug for hit in hits[:1]] == ["it"]
    backend.close()


# note that must win, note that shares less with the query, query
PREFERRED = [
    ("written in C++", "vitamin C", "C++"),
    ("written in C#", "written in C", "C#"),
    ("release v1.2.3", "release v3.2.1", "v1.2.3"),
    ("set user_id", "the id of a user", "user_id"),
    ("read CLAUDE.md first", "claude wrote this md file", "CLAUDE.md"),
    ("deploy key rotates", "key of the deploy that rotates", "deploy key"),
]


@pytest.mark.parametrize(("best", "other", "query"), PREFERRED)
def test_the_whole_identifier_ranks_first(best: str, other: str, query: str) -> None:
    notes = Notebook()
    notes.write("best", title="t", body=best)
    notes.write("other", title="t", body=other)
    backend = WhooshBackend(None)

    hits = backend.search(notes, query, now=START, weights=Weights(recency_weight=0.0))

    assert hits[0].slug == "best"
    backend.close()


@pytest.mark.parametrize("word", ["mRNA", "siRNA", "pH", "iPhone", "LLMs", "PDFs", "API"])
def test_no_name_of_one_thing_is_split(word: str) -> None:
    assert list(analyzed(word).main) == [stem(word.lower())]


def test_fields_are_those_of_the_recipe() -> None:
    terms = analyzed("Deploying the keys, 東京都 now")

    assert dict(terms.main) == {
        "deploy": 1, "the": 1, "key": 1, "東京": 1, "京都": 1, "now": 1,
    }  # fmt: skip
    assert dict(terms.pairs) == {"deploy key": 1}
    assert dict(terms.singles) == {"東": 1, "京": 1, "都": 1}
    assert set(terms.grams) == {
        "^dep", "depl", "eplo", "ploy", "loyi", "oyin", "ying", "ing$",
        "^the", "the$", "^key", "keys", "eys$", "^now", "now$",
    }  # fmt: skip
    assert terms.length == 6


@pytest.mark.parametrize("name", ["bob@localhost", "v1.2", "a.b@c"])
def test_a_name_with_punctuation_inside_is_a_term(name: str) -> None:
    assert name in analyzed(f"see {name} there").pairs


def test_there_are_79_stop_words() -> None:
    assert len(STOP_WORDS) == 79


def test_a_long_word_counts_by_its_first_64_characters() -> None:
    assert list(analyzed("x" * 5_000).main) == ["x" * 64]
    assert "example." + "z" * 56 in analyzed("example." + "z" * 99).pairs


@given(st.text())
def test_any_text_is_analysed_the_same_twice(text: str) -> None:
    assert analyzed(text) == analyzed(text)
    assert all(analyzed(text).main.values())


ASCII = st.text(st.sampled_from("aB1_' .-\n\x1c+@#"), max_size=40) | st.text(
    st.characters(max_codepoint=127), max_size=40
)


@given(ASCII)
@example("a''b 'c' d' 'e")
@example("bob@example and v1.2 and C+ and c#")
def test_ascii_is_analysed_as_any_other_text(text: str) -> None:
    terms, with_another = analyzed(text), analyzed(f"{text} 京")

    assert with_another.main == {**terms.main, "京": 1}
    assert with_another.pairs == terms.pairs
    assert with_another.grams == terms.grams


@given(ASCII)
def test_words_in_lower_case_are_analysed_as_those_in_capitals(text: str) -> None:
    assert analyzed(text.lower()) == analyzed(text.upper())


@given(st.text())
def test_every_word_lies_in_the_text_in_order(text: str) -> None:
    text, last = normalized(text), -1
    for start, end, terms in words_of(text):
        assert last <= start < end <= len(text)
        assert isinstance(terms, tuple)
        last = start


# What whoosh's stemmer gets wrong: -ization and -ational are longer than -ation and -tional, and
# after -izer has become -ize its e still counts as outside of the second region.
_DIFFERENT = re.compile("izer|(ization|ationally|ationalism|ational|izations)$")


_ENDINGS = re.findall(
    r"\S+",
    """
    s es ies ied eed eedly ed edly ing ingly y tional enci anci abli entli izer ation ator alism
    aliti alli fulness ousli ousness iveness iviti biliti bli ogi fulli lessli li alize icate iciti
    ative ical ness ful al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize sion
    tion e ll yed ying
    """,
)


@given(st.text("abcdefghijklmnopqrstuvwxyz", max_size=4), st.sampled_from(["", *_ENDINGS]))
def test_stems_are_those_of_snowball(start: str, end: str) -> None:
    word = start + end

    assert stem(word) == EnglishStemmer().stem(word) or _DIFFERENT.search(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("skies", "sky"), ("dying", "die"), ("generously", "generous"), ("communism", "communism"),
        ("hopping", "hop"), ("hoping", "hope"), ("realization", "realiz"), ("agreed", "agre"),
        ("sayings", "say"), ("relational", "relat"), ("ties", "tie"), ("cries", "cri"),
        ("ayyed", "ayi"), ("abizer", "abiz"),
        ("国", "国"), ("ß", "ß"), ("yyy", "yyy"), ("y", "y"), ("inning", "inning"),
    ],
)  # fmt: skip
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_a_query_keeps_the_rarest_of_too_many_terms_in_their_order() -> None:
    terms = [QueryTerm(0, f"t{number}", 1.0) for number in range(300)]
    terms += [QueryTerm(1, "pair", 0.3)]
    asked: list[int] = []

    def frequencies(some: object) -> list[int]:
        asked.append(1)
        return [(number * 7) % 300 for number in range(len(list(some)))]  # type: ignore[call-overload]

    kept = rarest(terms, frequencies)

    of_main = [term.term for term in kept if term.field == 0]
    expected = sorted(n for n in range(300) if 1 <= (n * 7) % 300 <= TERMS_MAX[0])
    assert of_main == [f"t{number}" for number in expected]
    assert kept[-1].term == "pair"
    assert asked == [1]


def test_a_query_word_weighs_as_often_as_it_stands() -> None:
    weights = {term.term: term.weight for term in query_terms("tea tea cup") if term.field == 0}

    assert weights == {"tea": 2.0, "cup": 1.0}
