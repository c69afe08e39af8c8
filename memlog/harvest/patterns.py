r"""What a secret looks like: its form, its place, or its name. Data, and one question.

The patterns follow the published formats of tokens (as secret scanners such as gitleaks and
detect-secrets list them), the places where secrets stand (headers, URLs, assignments, command
lines), and last the look of random text. They rather take too much: what is masked is lost to a
harvest, what is not goes to a model and may stay in the log for ever. Not promised: that a secret
without a known form, name or place is found.

Every pattern takes linear time: repeats are bounded, possessive, or begin at the start of a run,
and what looks ahead looks a bounded way.
"""

from __future__ import annotations

import re

from memlog.harvest.pattern import QUOTE, TO_ITS_END, Pattern
from memlog.harvest.places import PLACES

# Where a token may begin; behind an escape, too: `\\n` in JSON inside of JSON.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"

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
    r"|pre[_ -]?shared[_ -]?key|licen[cs]e[_ -]?key|(?<![a-z])(?:psk|creds)"
)
_SHORT_NAMES = r"(?:(?<![a-z])|(?<=ssh))(?:pass|pw)"  # Ordinary words, unless a value is set.
_SUFFIX = (
    r"(?:[_-]?(?:key|id|hash|salt|base|value|base64|b64|pem|text|prod|dev|test|live|old|new"
    r"|\d{1,3}))?"
)
_NAME = rf"(?:{_WORD_NAMES}|{_KEY_NAMES}){_SUFFIX}"
_BLANK = r"[^\S\r\n]"  # Also one that does not break, as chats and web pages have it.
# Between a name and its value: `"token": `, `token=`, `["token"] => `, `\"token\": `, `token%3D`,
# `**token**: `, `token (old): `, `&quot;token&quot;:`.
_SET = (
    rf"""(?:[\\"'`\])*_]|%22|&quot;|&#3[49];){{0,6}}{_BLANK}{{0,8}}"""
    rf"(?:\([^()\n]{{1,40}}\){_BLANK}{{0,4}})?"
    rf"(?::=|=>|->|[:=\uff1a\uff1d\u2192]|%3[AD]){_BLANK}{{0,8}}(?:%22|&quot;|&#3[49];)?"
)
_PLAIN_WORDS = (
    r"(?!(?:an?|the|not|in|on|at|to|by|from|with|of|for|as|set|stored|kept|saved|required|needed"
    r"|never|always|now|no|only|valid|expired|invalid|wrong|missing|correct|incorrect|rotated"
    r"|used|sent|passed|given|generated|created|read|managed|very|too|still|also)(?![\w-]))"
)
_SAYS = (
    r"(?:(?:is|was|are|were|be|been|got) (?:now )?)?(?:set|changed|reset|updated) to"
    r"|is now|is|was|are|be|reads|será|ist|lautet|est|es|é"
)

_WORD_ANCHORS = (
    "pass", "pwd", "mnemonic", "seed", "recovery", "密码", "密碼", "口令", "パスワード", "비밀번호",
    "пароль", "contrase", "senha", "mot de passe", "kennwort",
)  # fmt: skip
_NAME_ANCHORS = (
    *_WORD_ANCHORS, "secret", "token", "api", "access", "private", "signing", "encryption",
    "master", "account", "auth", "client", "service", "cred", "connection", "webhook", "otp",
    "cvv", "密钥", "令牌", "pw", "presh", "pre-sh", "pre_sh", "pre sh", "psk", "licen",
)  # fmt: skip
_SERVICES = (
    "gsk_", "xai-", "pplx-", "r8_", "fw_", "nfp_", "sbp_", "sb_secret_", "dckr_pat_", "dop_v1_",
    "doo_v1_", "dor_v1_", "dapi", "lin_api_", "ntn_", "secret_", "shpat_", "shpca_", "shppa_",
    "shpss_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "sntrys_", "sntryu_", "glc_", "glsa_",
    "rubygems_", "figd_", "nrak-", "pmak-", "hrku-", "tskey-", "pul-", "dp.pt.", "dp.st.", "dp.ct.",
    "dp.sa.", "sq0atp-", "sq0csp-", "ops_", "atbb", "phx_", "tvly-", "jina_", "nvapi-", "csk-",
    "vercel_", "npm_", "pypi-", "hf_", "api_org_", "hvs.", "hvb.", "hvr.", "atatt3", "atctt3",
    "lsv2_", "bkua_", "rdme_", "ltai", "pcsk_", "cfpat-", "ccipat_", "dt0c01.", "aio_", "napi_",
    "pat-na1-", "pat-eu1-", "access-production-", "access-sandbox-", "access-development-",
)  # fmt: skip

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\0]*?"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?=\0)|\Z)",
    ),
    Pattern("private-key", r"PuTTY-User-Key-File-\d[^\0]*?(?:Private-MAC:[^\n]*|(?=\0)|\Z)"),
    Pattern("private-key", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    *PLACES,
    # --- What has a name that says so
    Pattern(
        "assignment",
        rf"(?i){_NAME}{_SET}\\{{1,8}}(?P<q>{QUOTE})(?P<secret>(?:(?!\\{{1,8}}(?P=q))[^\n])+)",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(
        "assignment",
        rf"(?i){_NAME}{_SET}(?:[furb]{{0,2}})(?P<q>{QUOTE})(?P<secret>(?:\\.|(?!(?P=q))[^\n])+)",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # `password: |` or `password:`, and the value on the next line.
        "assignment",
        rf"(?i)(?:{_WORD_NAMES}){_SUFFIX}{_SET}(?:[|>][+-]?)?[ \t]{{0,4}}\r?\n[ \t]{{0,40}}"
        r"(?P<secret>[^\s\0][^\n]*)",
        anchors=_WORD_ANCHORS,
    ),
    Pattern(
        "assignment",
        rf"(?i)(?:{_WORD_NAMES}){_SUFFIX}{_SET}(?P<secret>[^\s\"'`\\][^\n]*)",
        anchors=_WORD_ANCHORS,
    ),
    Pattern(
        "assignment",
        rf"(?i)(?:{_NAME}|{_SHORT_NAMES}){_SET}(?P<secret>(?![\[{{]){TO_ITS_END}{{3,}})",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # A value below other names, when it looks like one; and in a code block of its own.
        "assignment",
        rf"(?i){_NAME}{_SET}(?:[|>][+-]?)?[ \t]{{0,4}}"
        r"(?:\r?\n[ \t]{0,40}(?:```\w{0,20})?){1,3}"
        rf"{QUOTE}?(?P<secret>(?=[^\s]{{0,80}}\d)[^\s\"'`\0]{{6,}})",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # <password>…</password>
        "assignment",
        rf"(?i){_NAME}(?:\s[^<>\n]{{0,100}})?>\s{{0,40}}(?:<!\[CDATA\[)?"
        r"(?P<secret>[^\s<>\0][^<>\0]{2,2000})(?:\]\]>)?</",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # name="password" value="…"; `name: PASSWORD` and, on the next line, `value: …`.
        "assignment",
        rf"(?i){_NAME}[\\\"']{{0,4}}[\s,;{{]{{1,20}}"
        r"(?:[\w-]{1,20} ?[=:] ?[^\s\0]{1,40}\s{1,20}){0,3}?"
        rf"[\\\"']{{0,4}}(?:value|default)[\\\"']{{0,4}} ?[=:] ?\\{{0,4}}{QUOTE}?"
        rf"(?P<secret>{TO_ITS_END}{{3,}})",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # ("password", "…")
        "assignment",
        rf"(?i){_NAME}\\{{0,4}}{QUOTE} ?, ?\\{{0,4}}{QUOTE}"
        rf"(?P<secret>{TO_ITS_END}{{3,}})\\{{0,4}}{QUOTE} ?[)\]]",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # the password (for the database) is …
        "assignment",
        rf"(?i)(?:{_NAME}|(?<![a-z])pw)"
        rf"(?:{_BLANK}{{1,4}}(?:for|of|to|on|in)(?:{_BLANK}{{1,4}}[^\s:=]{{1,30}}){{1,5}}?)?"
        rf"(?:{_BLANK}{{1,4}}(?:{_SAYS}):?|:){_BLANK}{{1,4}}(?::{_BLANK}{{0,4}})?"
        rf"{_PLAIN_WORDS}(?P<q>{QUOTE})?(?P<secret>(?(q)[^\n\"'`]+|[^\s]+))",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # use the password …; PASSWORD '…'; ENV API_KEY …
        "assignment",
        rf"(?i){_NAME}{_BLANK}{{1,4}}(?:(?:to|as|[\u2013\u2014|-]){_BLANK}{{1,4}})?"
        rf"\\{{0,4}}{QUOTE}?(?P<secret>(?=[^\s]{{0,80}}[a-z])(?=[^\s]{{0,80}}\d){TO_ITS_END}{{6,}})",
        anchors=_NAME_ANCHORS,
    ),
    Pattern(  # ENV API_KEY …; set -x API_KEY …; aws configure set aws_secret_access_key …
        "assignment",
        r"(?i)(?<![\w-])(?:ENV|ARG|setx|set[ \t]{1,4}-[a-z]{1,3}|config(?:ure)?[ \t]{1,4}set)"
        rf"[ \t]{{1,4}}[\w./:@-]{{0,80}}?{_NAME}[ \t]{{1,4}}"
        rf"\\{{0,4}}{QUOTE}?(?P<secret>(?!-){TO_ITS_END}{{3,}})",
        anchors=("env ", "arg ", "setx ", "set -", "config"),
    ),
    Pattern(
        "assignment",
        r"(?<![A-Za-z])(?:PIN|PUK)(?:[ -][Cc]ode)?(?: is|[ \t]?[:=])[ \t]{0,4}"
        r"(?P<secret>\d{4,8})(?!\d)",
        anchors=("pin", "puk"),
    ),
    Pattern(
        "assignment",
        r"(?:密码|密碼|口令|密钥|令牌|パスワード|비밀번호)(?:是|为|為|は|는)[ \t]{0,2}"
        r"(?P<secret>[^\s\uff0c\u3002,]+)",
        anchors=("密码", "密碼", "口令", "密钥", "令牌", "パスワード", "비밀번호"),
    ),
    Pattern(
        "assignment",
        r"(?i)(?<![a-z0-9-])auth[\\\"']{0,3}[ \t]{0,4}[:=][ \t]{0,4}[\\\"']{0,3}"
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
        rf"(?i){_START}(?:{'|'.join(map(re.escape, _SERVICES))})(?=[\w.=+/-]{{0,80}}\d)"
        r"[\w.=+/-]{16,}",
        anchors=_SERVICES,
    ),
    Pattern(
        "service-token",
        rf"{_START}(?:(?:hf|npm|gsk|r8)_|xai-|pplx-|pypi-)[\w-]{{20,}}",
        anchors=("hf_", "npm_", "gsk_", "r8_", "xai-", "pplx-", "pypi-"),
    ),
    Pattern("service-token", rf"{_START}v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{100,}}", anchors=("v1.0-",)),
    Pattern(
        "service-token",
        r"access_token\$(?:production|sandbox)\$\w{16}\$[0-9a-f]{32}",
        anchors=("access_token$",),
    ),
    Pattern("service-token", rf"{_START}sk_[0-9a-f]{{40,}}", anchors=("sk_",)),
    Pattern("service-token", rf"{_START}pat\w{{14}}\.[0-9a-f]{{64}}", anchors=("pat",)),
    Pattern(
        "service-token",
        rf"{_START}[0-2]/\d{{14,18}}:[0-9a-f]{{32}}(?![A-Za-z0-9])",
        anchors=("0/", "1/", "2/"),
    ),
    # --- What looks random
    Pattern("random-text", r"(?<![A-Za-z0-9+_=-])[A-Za-z0-9+_=-]{32,}+", digits_min=3),
)


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret: `password`, `clientSecret`, `API_KEY`."""
    return _SECRET_NAME.search(name) is not None


_SECRET_NAME = re.compile(
    rf"(?i)(?:{_NAME}|{_SHORT_NAMES}|passwords|secrets|authorization|cookies?|signature|jwt"
    r"|session[_-]?id|(?<![a-z])auth)\Z"
)
