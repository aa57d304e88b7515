"""Reads a program's options by toybox's rules: they stand anywhere before `--`."""

from __future__ import annotations

from dataclasses import dataclass


class BadUsage(Exception):
    """The command line is not understood; the text stands between program's name and a hint."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code

    def line(self, name: str) -> str:
        return f'{name}: {self} (see "{name} --help")'


class BadValue(BadUsage):
    """A value is not understood; toybox gives no hint then."""

    def line(self, name: str) -> str:
        return f"{name}: {self}"


@dataclass(frozen=True)
class Flags:
    names: frozenset[str]
    values: dict[str, list[str]]
    rest: list[str]

    def __contains__(self, name: str) -> bool:
        return name in self.names or name in self.values

    def value(self, name: str, default: str = "") -> str:
        """The last one given."""
        return self.values[name][-1] if name in self.values else default

    def number(self, name: str, default: int) -> int:
        return size(self.value(name)) if name in self.values else default


def size(text: str) -> int:
    """A count with an optional suffix, as toybox's atolx reads it."""
    units = {"c": 1, "b": 512, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
    digits, unit = text, 1
    if text[-1:].lower() in units:
        digits, unit = text[:-1], units[text[-1].lower()]
    try:
        return int(digits, 16 if digits.lower().startswith("0x") else 10) * unit
    except ValueError:
        raise BadValue(f"not integer: {text[:80]}") from None


def flags(
    args: list[str],
    known: str,
    long: dict[str, str] | None = None,
    *,
    first_only: bool = False,
    lenient: bool = False,
) -> Flags:
    """`known` is getopt's: a letter, with a colon where it takes a value. `long` maps long names
    to letters. `first_only`: the first plain word ends the options, as for `env` and `xargs`.
    `lenient`: what begins with an unknown letter is no option."""
    names: set[str] = set()
    values: dict[str, list[str]] = {}
    rest: list[str] = []
    todo = list(args)
    while todo:
        arg = todo.pop(0)
        if arg == "--":
            rest.extend(todo)
            break
        if arg.startswith("--"):
            name, given, value = arg[2:].partition("=")
            letter = (long or {}).get(name)
            if letter is None:
                raise BadUsage(f"Unknown option '{arg[2:]}'")
            if letter + ":" in known:
                values.setdefault(letter, []).append(value if given else _following(todo, letter))
            else:
                names.add(letter)
        elif arg.startswith("-") and len(arg) > 1 and not (lenient and arg[1] not in known):
            _letters(arg[1:], known, names, values, todo)
        else:
            rest.append(arg)
            if first_only:
                rest.extend(todo)
                break
    return Flags(frozenset(names), values, rest)


def _letters(
    letters: str, known: str, names: set[str], values: dict[str, list[str]], todo: list[str]
) -> None:
    for index, letter in enumerate(letters):
        if letter == ":" or letter not in known:
            raise BadUsage(f"Unknown option '{letter}'")
        if letter + ":" not in known:
            names.add(letter)
            continue
        value = letters[index + 1 :] or _following(todo, letter)
        values.setdefault(letter, []).append(value)
        return


def _following(todo: list[str], letter: str) -> str:
    if not todo:
        raise BadUsage(f"Missing argument to -{letter}")
    return todo.pop(0)
