"""Ways to break a bundle, each against one rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Break = Callable[[Path], None]
Fields = dict[str, Any]
GONE = object()  # a field that is taken away


def lines(bundle: Path, trace: str) -> list[Fields]:
    return [json.loads(line) for line in (bundle / f"{trace}.jsonl").read_text().splitlines()]


def write(bundle: Path, trace: str, told: list[Fields]) -> None:
    (bundle / f"{trace}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in told))


def changed(fields: Fields, changes: Fields) -> Fields:
    return {name: value for name, value in {**fields, **changes}.items() if value is not GONE}


def at(trace: str, number: int, **changes: Any) -> Break:
    """Fields of one line, counted from 0."""

    def do(bundle: Path) -> None:
        told = lines(bundle, trace)
        told[number] = changed(told[number], changes)
        write(bundle, trace, told)

    return do


def inside(trace: str, number: int, name: str, **changes: Any) -> Break:
    """Fields of an object in one line, or of the first object in a list."""

    def do(bundle: Path) -> None:
        told = lines(bundle, trace)
        value = told[number][name]
        if isinstance(value, list):
            value[0] = changed(value[0], changes)
        else:
            told[number][name] = changed(value, changes)
        write(bundle, trace, told)

    return do


def reordered(trace: str, order: Callable[[list[Fields]], list[Fields]]) -> Break:
    return lambda bundle: write(bundle, trace, order(lines(bundle, trace)))


def without(trace: str, number: int) -> Break:
    return reordered(trace, lambda told: [*told[:number], *told[number:][1:]])


def first(trace: str, **wanted: Any) -> Callable[[Path], int]:
    """The number of the first line with these fields."""

    def find(bundle: Path) -> int:
        for number, told in enumerate(lines(bundle, trace)):
            if all(told.get(name) == value for name, value in wanted.items()):
                return number
        raise AssertionError(f"no {wanted} in {trace}")

    return find


def where(find: Callable[[Path], int], do: Callable[[int], Break]) -> Break:
    return lambda bundle: do(find(bundle))(bundle)


def document(name: str, **changes: Any) -> Break:
    """Fields of a JSON file, in the bundle or else at the run's root."""

    def do(bundle: Path) -> None:
        path = bundle / name if (bundle / name).exists() else bundle.parents[2] / name
        path.write_text(json.dumps(changed(json.loads(path.read_text()), changes)))

    return do


def fact(name: str, place: str, **changes: Any) -> Break:
    """Fields of an object within a document of the run, by the object's place."""

    def do(bundle: Path) -> None:
        path = bundle.parents[2] / name
        told = json.loads(path.read_text())
        *above, last = place.split(".")
        within = told
        for key in above:
            within = within[key]
        within[last] = changed(within[last], changes)
        path.write_text(json.dumps(told))

    return do


def text(trace: str, old: str, new: str) -> Break:
    """The first such text of a trace, byte for byte."""

    def do(bundle: Path) -> None:
        path = bundle / f"{trace}.jsonl"
        whole = path.read_text()
        assert old in whole
        path.write_text(whole.replace(old, new, 1))

    return do


def put(name: str, data: bytes) -> Break:
    def do(bundle: Path) -> None:
        (bundle / name).write_bytes(data)

    return do


def append(name: str, data: bytes) -> Break:
    def do(bundle: Path) -> None:
        with (bundle / name).open("ab") as file:
            file.write(data)

    return do


def removed(name: str) -> Break:
    def do(bundle: Path) -> None:
        path = bundle / name if (bundle / name).exists() else bundle.parents[2] / name
        path.unlink()

    return do


def one_of(folder: str, do: Callable[[Path], None]) -> Break:
    """Something done to the first file of a folder."""
    return lambda bundle: do(min((bundle / folder).iterdir()))


def both(*breaks: Break) -> Break:
    def do(bundle: Path) -> None:
        for each in breaks:
            each(bundle)

    return do
