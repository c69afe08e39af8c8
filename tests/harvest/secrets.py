"""Secrets that nobody has: made when a test runs, so that no scanner finds one in this file."""

import base64
import random
import string

_RANDOM = random.Random(5)


def _letters(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(_RANDOM.choices(alphabet, k=count - 3)) + "a7Q"


_UPPER = string.ascii_uppercase + string.digits
_HEX = string.digits + "abcdef"

TOKENS = {
    "aws id": "AKIA" + "".join(_RANDOM.choices(_UPPER, k=16)),
    "aws session id": "ASIA" + "".join(_RANDOM.choices(_UPPER, k=16)),
    "aws secret": _letters(39) + "/",
    "github": "ghp_" + _letters(36),
    "github fine-grained": "github_pat_" + _letters(22) + "_" + _letters(59),
    "gitlab": "glpat-" + _letters(20),
    "openai": "sk-proj-" + _letters(48),
    "openai old": "sk-" + _letters(48),
    "anthropic": "sk-ant-api03-" + _letters(93),
    "slack": "xoxb-" + "1234567890" + "-1234567890-" + _letters(24),
    "google": "AIza" + _letters(35),
    "google oauth": "ya29." + _letters(60),
    "stripe": "sk_live_" + _letters(24),
    "jwt": ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"1234567890"}', _RANDOM.randbytes(32))
    ),
    "npm": "npm_" + _letters(36),
    "pypi": "pypi-" + _letters(60),
    "hugging face": "hf_" + _letters(34),
    "sendgrid": "SG." + _letters(22) + "." + _letters(43),
    "twilio": "SK" + "".join(_RANDOM.choices(_HEX, k=32)),
    "telegram": "123456789:" + _letters(35),
    "vault": "hvs." + _letters(24),
    "digitalocean": "dop_v1_" + "".join(_RANDOM.choices(_HEX, k=64)),
    "elevenlabs": "sk_" + "".join(_RANDOM.choices(_HEX, k=48)),
    "cloudflare": f"v1.0-{'a1' * 12}-{'b2' * 73}",
    "paypal": f"access_token$production${'a1' * 8}${'b2' * 16}",
    "langsmith": f"lsv2_pt_{'a1' * 16}_{'b2' * 5}",
    "airtable": f"pat{_letters(14)}.{'a1' * 32}",
    "asana": f"1/1234567890123456:{'a1' * 16}",
    "hubspot": "pat-na1-77c519c3-ae22-75ff-7ca2-f217076f6dc9",
    "plaid": "access-production-ea4ede39-64c9-58e9-e9f0-78bf97a8bf05",
    "alibaba": "LTAI" + _letters(20),
    "buildkite": "bkua_" + "".join(_RANDOM.choices(_HEX, k=40)),
    "age": "AGE-SECRET-KEY-1" + "".join(_RANDOM.choices(_UPPER, k=58)),
    "random": _letters(43),
}

_WORD = "Zq" + _letters(6) + "x"
_PHRASE = f"{_WORD} horse battery {_WORD}"
_KEY_LINES = [_letters(64) for _ in range(4)]
_KEY = "-----BEGIN {0}PRIVATE KEY-----\n{1}\n-----END {0}PRIVATE KEY-----"

# A text that holds a secret, and what of it must not be seen anywhere.
PLACES: dict[str, tuple[str, list[str]]] = {
    "assignment": (f"DB_PASSWORD={_WORD}", [_WORD]),
    "quoted": (f'password = "{_PHRASE}"', [_WORD]),
    "yaml": (f"db:\n  password: {_PHRASE}\n", [_WORD]),
    "json": (f'{{"user": "bob", "client_secret": "{_PHRASE}"}}', [_WORD]),
    "json in json": (f'{{\\"apiKey\\": \\"{_WORD}\\"}}', [_WORD]),
    "escaped quote": (f'{{"password": "ab\\"{_WORD}", "x": 1}}', [_WORD]),
    "sentence": (f"By the way, the password is {_WORD}.", [_WORD]),
    "quoted sentence": (f"my api key is '{_PHRASE}'", [_WORD]),
    "chinese": (f"密码是{_WORD}", [_WORD]),
    "url": (f"postgres://bob:{_WORD}@db.example.com/x", [_WORD]),
    "url with odd password": (f"redis://:p@{_WORD}/x@cache:6379", [_WORD]),
    "url parameter": (f"https://x.example/a?b=1&access_token={_WORD}&c=2", [_WORD]),
    "bearer": (f"curl -H 'Authorization: Bearer {_WORD}' https://x", [_WORD]),
    "basic": (f"Authorization: Basic {_WORD}==", [_WORD]),
    "header": (f"X-Api-Key: {_WORD}", [_WORD]),
    "cookie": (f"Cookie: session={_WORD}; id=1", [_WORD]),
    "option": (f"deploy --token {_WORD} --now", [_WORD]),
    "curl user": (f"curl -u bob:{_WORD} https://x", [_WORD]),
    "mysql": (f"mysql -u root -p{_WORD} db", [_WORD]),
    "netrc": (f"machine x login bob password {_WORD}", [_WORD]),
    "npmrc": (f"//registry/:_authToken={_WORD}", [_WORD]),
    "private key": (_KEY.format("RSA ", "\n".join(_KEY_LINES)), _KEY_LINES),
    "private key on one line": (
        _KEY.format("", "\n".join(_KEY_LINES)).replace("\n", "\\n"),
        _KEY_LINES,
    ),
    "private key, cut": (
        _KEY.format("OPENSSH ", "\n".join(_KEY_LINES)).partition("-----END")[0],
        _KEY_LINES,
    ),
    "private key with line numbers": (
        _KEY.format("EC ", "\n".join(f"{at}→{line}" for at, line in enumerate(_KEY_LINES))),
        _KEY_LINES,
    ),
    "blank that does not break": (f"password:\u00a0{_WORD}", [_WORD]),
    "bold name": (f"**Password**: {_WORD}", [_WORD]),
    "note in brackets": (f"password (prod): {_WORD}", [_WORD]),
    "table": (f"| user | bob |\n| password | {_WORD} |", [_WORD]),
    "element": (f"<server><password>{_WORD}</password></server>", [_WORD]),
    "input": (f'<input type="password" name="password" value="{_WORD}">', [_WORD]),
    "next line": (f"password:\n  {_PHRASE}", [_WORD]),
    "yaml block": (f"password: |\n  {_PHRASE}\n", [_WORD]),
    "code block": (f"The API key:\n\n```\n{_WORD}\n```", [_WORD]),
    "yaml list": (f"- name: DB_PASSWORD\n  value: {_WORD}", [_WORD]),
    "default": (f'variable "db_password" {{\n default = "{_WORD}"\n}}', [_WORD]),
    "short names": (f"DB_PASS={_WORD} SSHPASS={_WORD} pw: {_WORD}", [_WORD]),
    "url-encoded": (f"next=%2Fa%3Ftoken%3D{_WORD} %22password%22%3A%22{_WORD}%22", [_WORD]),
    "entities": (f"&quot;password&quot;:&quot;{_WORD}&quot;", [_WORD]),
    "sentence with a colon": (f"The password is: {_WORD}", [_WORD]),
    "sentence about something": (f"the password for the prod db is {_WORD}", [_WORD]),
    "no verb": (f"use the password {_WORD} to log in", [_WORD]),
    "set to": (f"I set the password to {_WORD}", [_WORD]),
    "sql": (f"ALTER USER bob PASSWORD '{_WORD}'; x IDENTIFIED BY '{_WORD}'", [_WORD]),
    "pair": (f"[('password', '{_WORD}')]", [_WORD]),
    "german": (f"das Passwort lautet {_WORD}", [_WORD]),
    "japanese": (f"パスワードは{_WORD}です", [_WORD]),
    "pipe": (f"echo {_WORD} | docker login --password-stdin", [_WORD]),
    "pgpass": (f"db.example.com:5432:mydb:bob:{_WORD}", [_WORD]),
    "sql in lower case": (f"create user bob identified by {_WORD};", [_WORD]),
    "kubernetes, kind first": (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  a: {_WORD}\n  b: {_WORD}\n",
        [_WORD],
    ),
    "kubernetes, kind last": (
        f"- apiVersion: v1\n  stringData:\n    a: {_WORD}\n    b: {_WORD}\n  kind: Secret\n",
        [_WORD],
    ),
    "rails": (f"heroku config:set SECRET_KEY_BASE={_WORD}", [_WORD]),
    "npm auth": (f"_auth={_WORD}{_WORD}", [_WORD]),
    "pre-shared key": (f"psk={_WORD} and the Pre-Shared Key: {_WORD}", [_WORD]),
    "licence key": (f"license key: {_WORD}-{_WORD}", [_WORD]),
    "creds": (f"creds: bob:{_WORD}", [_WORD]),
    "pin": ("PIN: 471142, PUK=471143", ["471142", "471143"]),
    "was changed": (f"the password was changed to {_WORD}; the pw is {_WORD}", [_WORD]),
    "fish": (f"set -x API_KEY {_WORD}", [_WORD]),
    "dockerfile": (f"ENV SECRET_KEY {_WORD}", [_WORD]),
    "aws configure": (f"aws configure set aws_secret_access_key {_WORD}", [_WORD]),
    "gh secret": (f'gh secret set DEPLOY --body "{_WORD}"', [_WORD]),
    "from literal": (f"kubectl create secret generic x --from-literal=a={_WORD}", [_WORD]),
    "vault put": (f"vault kv put kv/x a={_WORD}", [_WORD]),
    "chpasswd": (f"echo 'bob:{_WORD}' | sudo chpasswd", [_WORD]),
    "cookie of curl": (f'curl -b "sid={_WORD}" https://x', [_WORD]),
    "httpie": (f"http -a bob:{_WORD} x", [_WORD]),
    "short url user": ("https://a1b2c3d4e5@github.com/x", ["a1b2c3d4e5"]),
    **{
        f"program {command.split()[0]}": (f"{command}{_WORD} x", [_WORD])
        for command in (
            *("redis-cli -h x -a ", "mongosh -u root -p ", "docker login -u bob -p "),
            *("sqlcmd -S x -U sa -P ", "zip -r -P ", "7z a -p", "ldapsearch -D cn=a -w "),
            *("openssl rsa -passin pass:", "smbclient //h/s -U bob%", "htpasswd -b f bob "),
            r"net use z: \\h\s /user:bob ",
        )
    },
    "behind a masked one": (f"--password=abcde; passphrase: correct horse {_WORD}", [_WORD]),
}
