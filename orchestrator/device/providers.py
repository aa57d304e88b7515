"""Content providers: queries and inserts rows by means of the `content` program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .faults import DeviceFault
from .shell import Shell

EMPTY = "No result found."
_ROW = re.compile(r"^Row: (\d{1,9}) ", re.MULTILINE)
_TYPES: dict[type, str] = {str: "s", int: "i", float: "d"}

# The addresses of the well-known providers.
PROVIDERS = {
    "sms": "content://sms",
    "calllog": "content://call_log/calls",
    "contacts": "content://com.android.contacts/data",
    "calendar": "content://com.android.calendar/events",
    "downloads": "content://downloads/all_downloads",
    "mediastore": "content://media/external/file",
}
SETTINGS_PACKAGE = "com.android.providers.settings"
# The package that serves an authority; the meaning of an answer depends on its version.
_PACKAGES = {
    "sms": "com.android.providers.telephony",
    "mms": "com.android.providers.telephony",
    "mms-sms": "com.android.providers.telephony",
    "call_log": "com.android.providers.contacts",
    "com.android.contacts": "com.android.providers.contacts",
    "com.android.calendar": "com.android.providers.calendar",
    "downloads": "com.android.providers.downloads",
    "media": "com.android.providers.media.module",
    "settings": SETTINGS_PACKAGE,
}

Value = str | bool | int | float | None


@dataclass(frozen=True)
class Blob:
    """A binary value, whose content the program does not print."""


BLOB = Blob()
Row = Mapping[str, str | Blob | None]


def parse_rows(text: str, projection: Sequence[str]) -> tuple[Row, ...]:
    """Rows of `content query --projection`.

    Values are printed unescaped, commas, newlines and `=` included: a value ends where the next key
    of the projection begins, and a row ends where the next row number begins. A text that equals
    `NULL` or `BLOB` cannot be distinguished from a real NULL or BLOB.
    """
    if text.strip() == EMPTY:
        return ()
    starts: list[re.Match[str]] = []
    for match in _ROW.finditer(text):
        begins = text.startswith(f"{projection[0]}=", match.end())
        if int(match[1]) == len(starts) and begins:
            starts.append(match)
    if not starts or starts[0].start() != 0:
        raise DeviceFault("bad_answer", f"not rows with {', '.join(projection)}: {text[:500]!r}")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return tuple(
        _parse_row(text[match.end() : end].removesuffix("\n"), projection)
        for match, end in zip(starts, ends, strict=True)
    )


def _parse_row(text: str, projection: Sequence[str]) -> Row:
    row: dict[str, str | Blob | None] = {}
    rest = text
    for key, following in zip(projection, [*projection[1:], None], strict=True):
        if not rest.startswith(f"{key}="):
            raise DeviceFault("bad_answer", f"no {key} at its place in {text[:500]!r}")
        rest = rest[len(key) + 1 :]
        value = rest
        if following is not None:
            value, found, after = rest.partition(f", {following}=")
            if not found:
                raise DeviceFault("bad_answer", f"no {following} in {text[:500]!r}")
            rest = f"{following}={after}"
        row[key] = None if value == "NULL" else BLOB if value == "BLOB" else value
    return row


class Providers:
    """Queries and inserts. A provider's error is a fault although the program exits with 0."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def query(
        self,
        uri: str,
        projection: Sequence[str],
        *,
        where: str | None = None,
        sort: str | None = None,
        root: bool = False,
    ) -> tuple[Row, ...]:
        """The projection is required: without it the end of a value cannot be found."""
        if not projection:
            raise ValueError(f"a query of {uri} needs a projection")
        words = ["content", "query", "--uri", uri, "--projection", ":".join(projection)]
        words += ["--where", where] if where is not None else []
        words += ["--sort", sort] if sort is not None else []
        return parse_rows(self._shell.answer(*words, root=root), projection)

    def insert(self, uri: str, values: Mapping[str, Value]) -> None:
        """A provider may ignore the insert silently (SMS does): poll for the row afterwards."""
        self._shell.do("content", "insert", "--uri", uri, *_bindings(values))


def provider_package(uri: str) -> str:
    """The package that serves an address; the authority itself if no package is known."""
    authority = uri.removeprefix("content://").partition("/")[0]
    return _PACKAGES.get(authority, f"content://{authority}")


def _bindings(values: Mapping[str, Value]) -> list[str]:
    words: list[str] = []
    for key, value in values.items():
        if ":" in key:
            raise ValueError(f"not a column name: {key!r}")
        if value is None:
            typed = "n:"
        elif isinstance(value, bool):
            typed = f"b:{str(value).lower()}"
        elif isinstance(value, int) and not -(2**31) <= value < 2**31:
            typed = f"l:{value}"
        else:
            typed = f"{_TYPES[type(value)]}:{value}"
        words += ["--bind", f"{key}:{typed}"]
    return words


def quoted(text: str) -> str:
    """The text as an SQL literal for a where clause."""
    return "'" + text.replace("'", "''") + "'"
