"""Where secrets stand, whatever they look like: URLs, headers, command lines, Kubernetes. Data."""

from __future__ import annotations

from memlog.harvest.pattern import QUOTE, TO_ITS_END, Pattern

# Programs, and what stands before a secret on their command lines: `redis-cli -a SECRET`.
_OPTIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("redis-cli",), r"-a[ \t]{1,4}"),
    (("mongo",), r"-p[ \t]{1,4}"),
    (("login",), r"-p[ \t=]?"),
    (("sqlcmd", "bcp", "zip", "unzip"), r"-P[ \t]?"),
    (("7z",), r"-p"),
    (("ldap",), r"-w[ \t]{1,4}"),
    (("openssl",), r"(?:-k|-K|-pass(?:in|out|word)?)[ \t]{1,4}(?:pass:)?"),
    (("smb", "rpcclient"), rf"(?:-U|--user)[ \t=]?{QUOTE}?[^\s%]{{1,80}}%"),
    (("htpasswd",), r"-\w{0,4}b\w{0,4}[ \t]{1,4}[^\s]{1,80}[ \t]{1,4}[^\s]{1,80}[ \t]{1,4}"),
    (("net use",), r"/user:[^\s]{1,80}[ \t]{1,4}"),
    (("curl", "wget", "http"), r"(?:-b|--cookie)[ \t=]?[\\\"']{0,4}[^\s=;\"'\\]{1,80}="),
    (("secret set", "variable set"), r"(?:-b|--body)[ \t=]?"),
    (("vault",), r"(?:put|patch|write)[ \t]{1,4}[^\s]{1,120}[ \t]{1,4}[\w.-]{1,80}="),
)

PLACES: tuple[Pattern, ...] = (
    Pattern(
        "url-credentials",
        r"""://(?P<secret>[^\s/?#"'<>:@]{0,256}:[^\s"'<>]{1,256})@(?=[\w.\[%-])""",
    ),
    Pattern("url-credentials", r"""://(?P<secret>[^\s/?#"'<>:@]{16,256})@(?=[\w.\[])"""),
    Pattern(
        "url-credentials", r"""://(?P<secret>(?=\D{0,14}\d)[^\s/?#"'<>:@]{8,15})@(?=[\w.\[])"""
    ),
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
        rf"(?:=|[ \t]{{1,4}})(?!-)\\{{0,4}}{QUOTE}?(?P<secret>{TO_ITS_END}{{3,}})",
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
        r"(?:curl|wget|http)[^\n]{0,200}?[ \t](?:-u|--user|-a|--auth)[ =]?[\\\"']{0,4}"
        r"[^\s:\"'\\]{1,80}:(?P<secret>[^\s\"'\\]+)",
        anchors=("curl", "wget", "http"),
    ),
    Pattern(
        "command-line",
        r"(?i)login\s{1,4}\S{1,80}\s{1,4}password\s{1,4}(?P<secret>\S+)",
        anchors=("login",),
    ),
    Pattern(
        "command-line",
        r"(?:(?i:requirepass|convertto-securestring)|IDENTIFIED BY)[ \t]{1,4}\\{0,4}"
        rf"{QUOTE}?(?P<secret>(?!-){TO_ITS_END}{{3,}})",
        anchors=("identified by", "requirepass", "convertto-securestring"),
    ),
    Pattern(  # In lower case only where it is SQL: much is identified by something.
        "command-line",
        r"(?i)(?:(?:create|alter)[ \t]{1,4}(?:user|role)[ \t]{1,4}[^\s]{1,80}"
        r"[ \t]{1,4}identified by[ \t]{1,4}"
        rf"\\{{0,4}}{QUOTE}?|identified by[ \t]{{1,4}}\\{{0,4}}{QUOTE})"
        rf"(?P<secret>{TO_ITS_END}{{3,}})",
        anchors=("create", "alter", "identified by"),
    ),
    Pattern(
        "command-line",
        rf"(?:echo|printf)[ \t]{{1,4}}(?:-n[ \t]{{1,4}})?\\{{0,4}}{QUOTE}?"
        rf"(?P<secret>{TO_ITS_END}{{3,}})(?=[^\n|]{{0,20}}\|[^\n|]{{0,200}}--password-stdin)",
        anchors=("echo", "printf"),
    ),
    Pattern(
        "command-line",
        rf"(?:echo|printf)[ \t]{{1,4}}\\{{0,4}}{QUOTE}?[^\s:]{{1,40}}:"
        rf"(?P<secret>{TO_ITS_END}{{3,}})"
        r"(?=[^\n|]{0,20}\|[^\n|]{0,40}chpasswd)",
        anchors=("echo", "printf"),
    ),
    Pattern(
        "command-line",
        rf"--from-literal[ \t=]{QUOTE}?[\w.-]{{1,80}}=(?P<secret>{TO_ITS_END}{{3,}})",
        anchors=("--from-literal",),
    ),
    *(
        Pattern(
            "command-line",
            rf"(?<![\w-])(?:{'|'.join(programs)})[^\n]{{0,200}}?[ \t]{option}"
            rf"\\{{0,4}}{QUOTE}?(?P<secret>{TO_ITS_END}{{3,}})",
            anchors=programs,
        )
        for programs, option in _OPTIONS
    ),
    Pattern(
        "command-line",
        r"(?<![\w.])[\w.*-]{1,80}:\d{4,5}:[^\s:]{1,40}:[^\s:]{1,40}:(?P<secret>[^\s:]{3,})",
    ),
    Pattern("command-line", r"jdbc:oracle:\w{1,10}:[^\s/@:]{1,80}/(?P<secret>[^\s@/]{1,80})@"),
    *(  # The values of a Kubernetes secret, which are called anything; `kind` before or behind.
        Pattern(
            "kubernetes-secret",
            r"(?i)kind:[ \t]{0,4}Secret[ \t]{0,4}\r?\n(?:(?!---)[^\n\0]*\n){0,30}?[ \t]*"
            rf"{name}:"
            r"[ \t]{0,4}\r?\n(?P<i>[ \t]+)(?P<secret>[^\n\0]*(?:\n(?P=i)[^\n\0]*){0,60}+)",
            anchors=("kind:",),
        )
        for name in ("data", "stringData")
    ),
    Pattern(
        "kubernetes-secret",
        r"(?i)data:[ \t]{0,4}\r?\n(?P<i>[ \t]+)(?P<secret>[^\n\0]*(?:\n(?P=i)[^\n\0]*){0,60}+)"
        r"\n(?:(?!---)[^\n\0]*\n){0,3}?[ \t]*kind:[ \t]{0,4}Secret(?!\w)",
        anchors=("data:",),
    ),
)
