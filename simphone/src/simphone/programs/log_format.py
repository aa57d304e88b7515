"""The formats in which `logcat` prints a line, and the filters that let it through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from ..logcat import LogLine
from .regex import compiled

LEVELS = "VDIWEFS"
LAYOUTS = ("brief", "long", "process", "raw", "tag", "thread", "threadtime", "time")
MARKS = ("color", "epoch", "UTC", "uid", "usec", "year", "zone", "printable", "descriptive")


@dataclass(frozen=True)
class Format:
    layout: str = "threadtime"
    marks: frozenset[str] = frozenset()  # epoch, year, usec

    def time(self, line: LogLine) -> str:
        date = datetime.fromtimestamp(line.at, UTC)
        fraction = (
            f"{date.microsecond:06d}" if "usec" in self.marks else f"{date.microsecond // 1000:03d}"
        )
        if "epoch" in self.marks:
            return f"{int(line.at):>19}.{fraction}"
        return f"{date:%Y-%m-%d %H:%M:%S}.{fraction}"[0 if "year" in self.marks else 5 :]

    def head(self, line: LogLine) -> str:
        pid, tid, level, tag = line.pid, line.tid, line.level, line.tag
        match self.layout:
            case "threadtime":
                return f"{self.time(line)} {pid:5d} {tid:5d} {level} {tag:<8}: "
            case "time":
                return f"{self.time(line)} {level}/{tag:<8}({pid:5d}): "
            case "brief":
                return f"{level}/{tag:<8}({pid:5d}): "
            case "tag":
                return f"{level}/{tag:<8}: "
            case "thread":
                return f"{level}({pid:5d}:{tid:5d}) "
            case "process":
                return f"{level}({pid:5d}) "
        return ""

    def lines(self, line: LogLine) -> str:
        """The line as printed; a message of several lines repeats its head."""
        if self.layout == "long":
            head = f"[ {self.time(line)} {line.pid:5d}:{line.tid:5d} {line.level}/{line.tag:<8} ]"
            return f"{head}\n{line.text}\n\n"
        head = self.head(line)
        tail = f"  ({line.tag})" if self.layout == "process" else ""
        return "".join(f"{head}{text}{tail}\n" for text in line.text.split("\n"))


def read_format(words: list[str]) -> Format:
    """ValueError on a word that is no format."""
    layout, marks = "threadtime", set[str]()
    for word in (part for given in words for part in given.split(",")):
        if word not in LAYOUTS and word not in MARKS:
            raise ValueError(word)
        if word in LAYOUTS:
            layout = word
        else:
            marks.add(word)
    return Format(layout, frozenset(marks))


def read_filter(specs: list[str], *, silent: bool = False) -> Callable[[LogLine], bool]:
    """`TAG:LEVEL` words as a test; ValueError on one that is not."""
    floors: dict[str, int] = {}
    default = LEVELS.index("S") if silent else 0
    for spec in specs:
        tag, colon, letter = spec.partition(":")
        level = letter.upper() if colon and letter else ("D" if tag == "*" else "V")
        level = level.replace("*", "V")
        if not tag or len(level) != 1 or level not in LEVELS:
            raise ValueError(spec)
        if tag == "*":
            default = LEVELS.index(level)
        else:
            floors[tag] = LEVELS.index(level)

    def passes(line: LogLine) -> bool:
        floor = floors.get(line.tag, default)
        return floor < LEVELS.index("S") and LEVELS.find(line.level) >= floor

    return passes


def read_pattern(text: str) -> Callable[[LogLine], bool]:
    """-e: the message holds the expression; BadExpression where it is none."""
    pattern = compiled(text.replace(r"\d", "[0-9]"), extended=True)
    return lambda line: pattern.search(line.text) is not None
