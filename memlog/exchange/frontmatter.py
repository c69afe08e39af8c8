"""The front matter of a Markdown file: YAML between two `---` lines.

Read by PyYAML's safe loader, made stricter: every scalar stays the text that it is (only null is
told apart, so that no `yes`, `1.10` or `12:30` changes), an alias, a repeated key or a deep nest is
refused. So nothing can grow: what it gives is never larger than what stood there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from memlog.exchange.items import FileRefusedError
from memlog.exchange.requirements import missing

BYTES_MAX = 1024 * 1024
_DEPTH_MAX = 16


def split(text: str, *, file: str) -> tuple[dict[str, Any], str, int]:
    """Return a file's front matter, the text below it, and the line where that begins.

    A file that does not begin with a `---` line, or never ends it with another, or holds no mapping
    between them, has none: there a `---` is a rule of Markdown.

    Raises:
        FileRefusedError: it is no YAML, or of a kind that is not read; names the line.
        InvalidRequestError: PyYAML is not installed.
    """
    block = _block(text)
    if block is None:
        return {}, text, 1
    yaml, body = block
    if len(yaml.encode()) > BYTES_MAX:
        rule = f"its front matter has more than {BYTES_MAX // 1024} KB; move it into the text"
        raise FileRefusedError(file, 1, rule)
    fields = _parsed(yaml, file=file)
    if fields is None:
        return {}, text, 1
    return fields, body, text[: len(text) - len(body)].count("\n") + 1


def _block(text: str) -> tuple[str, str] | None:
    """Return what stands between the two lines, and what stands below."""
    first, feed, rest = text.partition("\n")
    if first.rstrip() != "---" or not feed:
        return None
    start = 0
    while start <= len(rest):
        end = rest.find("\n", start)
        line = rest[start:] if end < 0 else rest[start:end]
        if line.rstrip() == "---":
            return rest[:start], "" if end < 0 else rest[end + 1 :]
        if end < 0:
            return None
        start = end + 1
    return None


def _parsed(yaml_text: str, *, file: str) -> dict[str, Any] | None:
    loader_class = _loader_class()  # First: it says so when there is no PyYAML.
    import yaml

    try:
        loader = loader_class(yaml_text)
        try:
            found = loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # Below the first `---`; counted here, since YAML takes U+2028 and the like for line ends.
        line = 2 if mark is None else yaml_text.count("\n", 0, mark.index) + 2
        problem = error.problem or error.context or "it is no YAML"
        raise FileRefusedError(file, line, f"its front matter cannot be read: {problem}") from None
    except yaml.reader.ReaderError as error:
        line = yaml_text.count("\n", 0, error.position) + 2
        detail = f"its front matter holds the character U+{error.character:04X}"
        raise FileRefusedError(file, line, detail) from None
    except RecursionError:
        raise FileRefusedError(file, 2, "its front matter is nested too deeply") from None
    if found is None and not yaml_text.strip():
        return {}
    return found if isinstance(found, dict) else None


@cache
def _loader_class() -> Any:  # noqa: ANN401  # made late, since PyYAML is an extra
    """Return the strict loader."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise missing("PyYAML") from error

    class Strict(yaml.SafeLoader):
        """Strings, null, lists and mappings; no aliases, repeated keys or deep nests."""

        # A class attribute by which PyYAML tells scalars apart, by first character.
        yaml_implicit_resolvers = {  # noqa: RUF012  # PyYAML's own convention
            first: [pair for pair in pairs if pair[0] == "tag:yaml.org,2002:null"]
            for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }
        _depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401  # PyYAML's types
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            mark: Any = event.start_mark
            if isinstance(event, yaml.AliasEvent):
                problem = "an alias (*), which is not read; write the value out"
                raise yaml.composer.ComposerError(None, None, problem, mark)
            self._depth += 1
            if self._depth > _DEPTH_MAX:
                problem = f"values more than {_DEPTH_MAX} deep"
                raise yaml.composer.ComposerError(None, None, problem, mark)
            node = super().compose_node(parent, index)
            self._depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002  # PyYAML's own signature
            seen = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    problem = "a key that is no text"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                if key.value in seen:
                    problem = f"the key {key.value[:40]!a} twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
            pairs = super().construct_mapping(node, deep=deep)
            return {str(key): value for key, value in pairs.items()}

    return Strict
