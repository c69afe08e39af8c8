r"""Find secrets in text and put `[masked:KIND]` in their place. Pure.

The patterns follow the published formats of tokens (as secret scanners such as gitleaks and
detect-secrets list them), the places where secrets stand (headers, URLs, assignments, command
lines), and last the look of random text. They rather take too much: what is masked is lost to a
harvest, what is not goes to a model and may stay in the log for ever. Not promised: that a secret
without a known form, name or place is found.

Extend the set by handing over another one: `(*PATTERNS, Pattern("badge", r"BADGE-\d{6}"))`.

Every pattern takes linear time: repeats are bounded, possessive, or begin at the start of a run.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

_RANDOM_BITS_MIN = 4.0


class Pattern(msgspec.Struct, frozen=True):
    """One form of secrets.

    Attributes:
        kind: what it is, for the placeholder and the counts: lower case and `-`.
        regex: a regular expression; the group `secret`, if it has one, is what is masked, else the
            whole match.
        anchors: lower-case words with one of which every match begins, whatever its case; found
            much faster than the expression would be. Empty: it is looked for everywhere.
        digits_min: number of digits, with upper and lower case and much entropy, that make what is
            masked look random; 0 when its look does not matter.
    """

    kind: str
    regex: str
    anchors: tuple[str, ...] = ()
    digits_min: int = 0


class Masked(NamedTuple):
    """Text without its secrets, and how many of each kind it had."""

    text: str
    counts: Counter[str]


# Where a token may begin; behind an escape, too: `\\n` in JSON inside of JSON.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_QUOTE = r"""["'`]"""
_TO_ITS_END = r"""[^\s"'`,;<>()\\]"""

# What a value is called that nobody should see; also in camel case and with a prefix or a number.
_WORD_NAMES = (
    r"pass[_-]?(?:word|wd|phrase|code|key)|passwd|pwd|mnemonic|seed[_ -]?phrase|recovery[_ -]?code"
    r"|密码|密碼|口令|パスワード|비밀번호|пароль|contrase(?:ñ|n)a|senha|mot de passe|passwort"
    r"|kennwort"
)
_KEY_NAMES = (
    r"secret|token|api[_ -]?key|access[_ -]?key|private[_ -]?key|secret[_ -]?key|signing[_ -]?key"
    r"|encryption[_ -]?key|master[_ -]?key|account[_ -]?key|auth[_ -]?key|client[_ -]?key"
    r"|service[_ -]?key|credentials?|connection[_ -]?string|webhook[_ -]?url|otp|cvv|密钥|令牌"
)
_SUFFIX = r"(?:[_-]?(?:key|id|hash|salt|value|base64|b64|text|prod|dev|test|live|old|new|\d{1,3}))?"
_NAME = rf"(?:{_WORD_NAMES}|{_KEY_NAMES}){_SUFFIX}"
# Between a name and its value: `"token": `, `token=`, `["token"] => `, `\"token\": `.
_SET = r"""[\\"'`\])]{0,6}[ \t]{0,8}(?::=|=>|->|[:=\uff1a])[ \t]{0,8}"""
_PLAIN_WORDS = (
    r"(?!(?:an?|the|not|in|on|at|to|by|from|with|of|for|as|set|stored|kept|saved|required|needed"
    r"|never|always|now|no|only|valid|expired|invalid|wrong|missing|correct|incorrect|rotated"
    r"|used|sent|passed|given|generated|created|read|managed|very|too|still|also)(?![\w-]))"
)

_WORD_ANCHORS = (
    "pass", "pwd", "mnemonic", "seed", "recovery", "密码", "密碼", "口令", "パスワード", "비밀번호",
    "пароль", "contrase", "senha", "mot de passe", "kennwort",
)  # fmt: skip
_NAME_ANCHORS = (
    *_WORD_ANCHORS, "secret", "token", "api", "access", "private", "signing", "encryption",
    "master", "account", "auth", "client", "service", "credential", "connection", "webhook", "otp",
    "cvv", "密钥", "令牌",
)  # fmt: skip
_SERVICES = (
    "gsk_", "xai-", "pplx-", "r8_", "fw_", "nfp_", "sbp_", "sb_secret_", "dckr_pat_", "dop_v1_",
    "doo_v1_", "dor_v1_", "dapi", "lin_api_", "ntn_", "secret_", "shpat_", "shpca_", "shppa_",
    "shpss_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "sntrys_", "sntryu_", "glc_", "glsa_",
    "rubygems_", "figd_", "nrak-", "pmak-", "hrku-", "tskey-", "pul-", "dp.pt.", "dp.st.", "dp.ct.",
    "dp.sa.", "sq0atp-", "sq0csp-", "ops_", "atbb", "phx_", "tvly-", "jina_", "nvapi-", "csk-",
    "vercel_", "npm_", "pypi-", "hf_", "api_org_", "hvs.", "hvb.", "hvr.", "atatt3", "atctt3",
)  # fmt: skip

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\0]*?"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?=\0)|\Z)",
    ),
    Pattern("private-key", r"PuTTY-User-Key-File-\d[^\0]*?(?:Private-MAC:[^\n]*|(?=\0)|\Z)"),
    Pattern("private-key", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    # --- Where secrets stand
    Pattern(
        "url-credentials",
        r"""://(?P<secret>[^\s/?#"'<>:@]{0,256}:[^\s"'<>]{1,256})@(?=[\w.\[%-])""",
    ),
    Pattern("url-credentials", r"""://(?P<secret>[^\s/?#"'<>:@]{16,256})@(?=[\w.\[])"""),
    Pattern(
        "url-parameter",
        r"[?&;](?:[\w-]{0,24}(?:token|secret|password|passwd|pwd|api[_-]?key|signature|credential)"
        r"|key|sig|auth|code|jwt|session)=(?P<secret>[^&\s\"'#<>\\]{4,})",
    ),
    Pattern("url-parameter", r"hooks\.slack\.com/\w{1,20}/(?P<secret>[\w/+-]{16,})"),
    Pattern("url-parameter", r"discord(?:app)?\.com/api/webhooks/(?P<secret>[\w/-]{16,})"),
    Pattern(
        "header",
        r"(?i)(?:authorization|x-[\w-]{0,30}(?:key|token|secret|signature)|api-key|cookie)"
        r"[\\\"']{0,6}[ \t]{0,4}[:=,][ \t]{0,4}[\\\"']{0,6}"
        r"(?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)[ \t]{1,4})?"
        r"(?P<secret>[^\s\"'\\][^\r\n\"'\\]{3,})",
        anchors=("authorization", "x-", "api-key", "cookie"),
    ),
    Pattern(
        "header",
        r"(?i)(?<!\w)bearer[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{8,})",
        anchors=("bearer",),
    ),
    Pattern(
        "header",
        r"(?i)(?<!\w)basic[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{12,}={0,2})",
        anchors=("basic",),
        digits_min=1,
    ),
    Pattern(
        "command-line",
        r"(?i)(?<![\w-])--?[\w-]{0,24}(?:password|passwd|pass|passphrase|pwd|secret|token|api-?key)"
        rf"(?:=|[ \t]{{1,4}})(?!-)[\\]{{0,4}}{_QUOTE}?(?P<secret>{_TO_ITS_END}{{3,}})",
        anchors=("-",),
    ),
    Pattern(
        "command-line",
        r"(?i)(?:mysql|mariadb|sshpass)[^\n]{0,120}?[ \t]-p[ \t]?"
        r"(?P<secret>[^\s\"'\\-][^\s\"'\\]*)",
        anchors=("mysql", "mariadb", "sshpass"),
    ),
    Pattern(
        "command-line",
        r"(?:curl|wget|http)[^\n]{0,200}?[ \t](?:-u|--user)[ =]?[\\\"']{0,4}"
        r"[^\s:\"'\\]{1,80}:(?P<secret>[^\s\"'\\]+)",
        anchors=("curl", "wget", "http"),
    ),
    Pattern(
        "command-line",
        r"(?i)login\s{1,4}\S{1,80}\s{1,4}password\s{1,4}(?P<secret>\S+)",
        anchors=("login",),
    ),
    # --- What has a name that says so
    Pattern(
        "assignment",
        rf"(?i){_NAME}{_SET}\\+(?P<q>{_QUOTE})(?P<secret>(?:(?!\\+(?P=q))[^\n])+)",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(
        "assignment",
        rf"(?i){_NAME}{_SET}(?:[furb]{{0,2}})(?P<q>{_QUOTE})(?P<secret>(?:\\.|(?!(?P=q))[^\n])+)",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(
        "assignment",
        rf"(?i)(?:{_WORD_NAMES}){_SUFFIX}{_SET}(?P<secret>[^\s\"'`\\][^\n]*)",
        anchors=_WORD_ANCHORS,
    ),
    Pattern(
        "assignment",
        rf"(?i){_NAME}{_SET}(?P<secret>(?![\[{{]){_TO_ITS_END}{{3,}})",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(
        "assignment",
        rf"(?i){_NAME}[ \t]{{1,4}}(?:is now|is|was|are|be|será|ist|est|es)[ \t]{{1,4}}"
        rf"(?::[ \t]{{0,4}})?{_PLAIN_WORDS}(?P<q>{_QUOTE})?(?P<secret>(?(q)[^\n\"'`]+|[^\s]+))",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(
        "assignment",
        r"(?:密码|密碼|口令|密钥|令牌)(?:是|为|為)[ \t]{0,2}(?P<secret>[^\s\uff0c\u3002,]+)",
        anchors=("密码", "密碼", "口令", "密钥", "令牌"),
    ),
    Pattern(
        "assignment",
        r"(?i)(?<![\w-])auth[\\\"']{0,3}[ \t]{0,4}[:=][ \t]{0,4}[\\\"']{0,3}"
        r"(?P<secret>[A-Za-z0-9+/=_-]{16,})",
        anchors=("auth",),
    ),
    Pattern(
        "assignment", r"(?:AccountKey|SharedAccessKey|[?&]sig)=(?P<secret>[A-Za-z0-9+/=%]{16,})"
    ),
    # --- What has a form of its own
    Pattern("jwt", r"eyJ[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]*){0,4}"),
    Pattern(
        "aws-key",
        rf"{_START}(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ABIA|ACCA|A3T[A-Z0-9])"
        r"[A-Z0-9]{16}(?![A-Za-z0-9])",
        anchors=("a3t", "abia", "acca", "ag", "ai", "akia", "an", "aroa", "asia"),
    ),
    Pattern("aws-key", r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])", digits_min=1),
    Pattern(
        "github-token",
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{16,}}|github_pat_\w{{16,}})",
        anchors=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    Pattern("gitlab-token", rf"{_START}gl[a-z]{{2,6}}-[\w-]{{16,}}", anchors=("gl",)),
    Pattern("anthropic-key", rf"{_START}sk-ant-[\w-]{{8,}}", anchors=("sk-ant-",)),
    Pattern("openai-key", rf"{_START}(?:sk|sess)-[\w-]{{16,}}", anchors=("sk-", "sess-")),
    Pattern(
        "slack-token",
        rf"{_START}(?:xox[a-z](?:\.xox[a-z])?|xapp|xwfp)-[A-Za-z0-9-]{{8,}}",
        anchors=("xox", "xapp-", "xwfp-"),
    ),
    Pattern(
        "google-key",
        rf"{_START}(?:AIza[\w-]{{20,}}|GOCSPX-[\w-]{{16,}}|ya29\.[\w.-]{{16,}}|1//0[\w-]{{20,}})",
        anchors=("aiza", "gocspx-", "ya29.", "1//0"),
    ),
    Pattern(
        "stripe-key",
        rf"{_START}(?:(?:sk|rk|pk)_(?:live|test)_\w{{8,}}|whsec_[\w+/=]{{8,}})",
        anchors=("sk_", "rk_", "pk_", "whsec_"),
    ),
    Pattern("sendgrid-key", rf"{_START}SG\.[\w-]{{16,}}\.[\w-]{{16,}}", anchors=("sg.",)),
    Pattern("twilio-key", rf"{_START}(?:SK|AC)[0-9a-f]{{32}}(?!\w)", anchors=("sk", "ac")),
    Pattern("telegram-token", r"(?<![\w:])\d{8,10}:[\w-]{35}(?![\w-])"),
    Pattern("discord-token", rf"{_START}[MNO][\w-]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,}}"),
    Pattern("mailchimp-key", r"(?<![0-9A-Za-z])[0-9a-f]{32}-us\d{1,2}(?!\d)"),
    Pattern("mailgun-key", rf"{_START}key-[0-9a-f]{{32}}", anchors=("key-",)),
    Pattern("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{16,}"),
    Pattern(
        "service-token",
        rf"(?i){_START}(?:{'|'.join(map(re.escape, _SERVICES))})(?=[\w.=+/-]*\d)[\w.=+/-]{{16,}}",
        anchors=_SERVICES,
    ),
    Pattern(
        "service-token",
        rf"{_START}(?:(?:hf|npm|gsk|r8)_|xai-|pplx-|pypi-)[\w-]{{20,}}",
        anchors=("hf_", "npm_", "gsk_", "r8_", "xai-", "pplx-", "pypi-"),
    ),
    # --- What looks random
    Pattern("random-text", r"(?<![A-Za-z0-9+_=-])[A-Za-z0-9+_=-]{32,}+", digits_min=3),
)


def mask(text: str, patterns: Sequence[Pattern] = PATTERNS) -> Masked:
    """Return `text` with each secret replaced, and the counts by kind. Masking again finds none.

    Costs about half a second a megabyte, on hostile text a few.
    """
    counts: Counter[str] = Counter()
    for pattern in patterns:
        text = _masked(text, pattern, counts)
    return Masked(text, counts)


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret: `password`, `clientSecret`, `API_KEY`."""
    return _SECRET_NAME.search(name) is not None


_SECRET_NAME = re.compile(rf"(?i)(?:{_NAME}|passwords|secrets|authorization|cookies?)\Z")
_PLACEHOLDER = re.compile(r"\[masked:[a-z0-9-]+\]")


def placeholder(kind: str) -> str:
    """Return what stands where a secret was."""
    return f"[masked:{kind}]"


@lru_cache(maxsize=256)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)  # The set costs 30 ms: for those who harvest.


def _masked(text: str, pattern: Pattern, counts: Counter[str]) -> str:
    compiled = _compiled(pattern.regex)
    group = "secret" if "secret" in compiled.groupindex else 0
    pieces, end = [], 0
    for match in _matches(text, compiled, pattern.anchors):
        secret = match[group]
        if _PLACEHOLDER.match(secret) or not _looks_random(secret, pattern.digits_min):
            continue
        counts[pattern.kind] += 1
        pieces += [text[end : match.start(group)], placeholder(pattern.kind)]
        end = match.end(group)
    return "".join([*pieces, text[end:]]) if pieces else text


def _matches(
    text: str, compiled: re.Pattern[str], anchors: Sequence[str]
) -> Iterator[re.Match[str]]:
    """Yield the matches that do not overlap, from left to right."""
    if not anchors:
        yield from compiled.finditer(text)
        return
    end = 0
    for start in _places(_lower(text), anchors):
        match = compiled.match(text, start) if start >= end else None
        if match is not None:
            yield match
            end = match.end()


def _places(lower: str, anchors: Sequence[str]) -> list[int]:
    places = set()
    for anchor in anchors:
        place = lower.find(anchor)
        while place >= 0:
            places.add(place)
            place = lower.find(anchor, place + 1)
    return sorted(places)


@lru_cache(maxsize=1)  # Nearly every pattern leaves the text as it was.
def _lower(text: str) -> str:
    """Return `text` in lower case, every character still in its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(each if len(each) == 1 else " " for each in map(str.lower, text))


def _looks_random(text: str, digits_min: int) -> bool:
    """Tell whether text has the mixture and the entropy (bits a character) of a random token."""
    if not digits_min:
        return True
    digits = sum(map(str.isdigit, text))
    if digits < digits_min or text.lower() == text or text.upper() == text:
        return False
    return _entropy_bits(text) >= _RANDOM_BITS_MIN


def _entropy_bits(text: str) -> float:
    length = len(text)
    return -sum(count / length * math.log2(count / length) for count in Counter(text).values())
