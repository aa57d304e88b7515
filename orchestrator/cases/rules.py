"""Checks case files for what the model cannot: scripts, templates, and names that must agree.

Every rule reads the raw document, so that one mistake does not hide another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from .mistakes import MOST, Mistake
from .script import BadMove, parse_step
from .site import site_uses
from .templates import BadTemplate, inspect, is_template, undefined
from .yaml_document import Document, Location

SCRIPTS: tuple[Location, ...] = (("solution",), ("near_miss",), ("attack", "bait"))
ORACLES: tuple[Location, ...] = (("success",), ("forbidden",), ("attack", "forbidden"))
PARTS: tuple[Location, ...] = (("composite", "all"), ("composite", "any"))  # of an oracle
NAMES: tuple[Location, ...] = (("params",), ("attack", "params"), ("attack", "inject"))
Found = Iterator[tuple[Location, str]]  # a location, and what is wrong there


def rule_mistakes(path: Path, document: Document, site: Mapping[str, str]) -> list[Mistake]:
    """Every broken rule in one case file and in the pages of its site."""
    data = document.data
    served = bool(site or _at(data, ("responses",)))
    rules = (
        _identity(path, data), _scripts(data), _oracles(data), _responses(data), _params(data),
        () if served else _site_questions(data),
    )  # fmt: skip
    mistakes = [
        Mistake(path, document.line(place), text)
        for rule in rules
        for place, text in islice(rule, MOST)
    ]
    mistakes += [
        Mistake(path, line, f"{key} is written twice; remove one")
        for key, line in islice(document.repeated(), MOST)
    ]
    return mistakes + list(islice(_templates(path, document, site, served), MOST))


def _at(data: Any, location: Location) -> Any:
    for part in location:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _names(data: Any, location: Location) -> dict[str, object]:
    found = _at(data, location)
    return {str(name): None for name in found} if isinstance(found, dict) else {}


def _items(data: Any, *locations: Location) -> Iterator[tuple[Location, dict[Any, Any]]]:
    """The items of the lists at these locations. The model reports those that are not objects."""
    for location in locations:
        found = _at(data, location)
        for number, item in enumerate(found if isinstance(found, list) else ()):
            if isinstance(item, dict):
                yield (*location, number), item


def _identity(path: Path, data: Any) -> Found:
    name = path.parent.resolve().name
    id = _at(data, ("id",))
    if isinstance(id, str) and id != name:
        yield ("id",), f"the id is {id!r} but the folder is {name!r}; write id: {name}"


def _scripts(data: Any) -> Found:
    steps = _at(data, ("budget", "steps"))
    for location in SCRIPTS:
        found = _at(data, location)
        by_profile = found if isinstance(found, dict) else {"": found}
        for profile, script in by_profile.items():
            if not isinstance(script, list):
                continue  # the model reports it
            place = (*location, profile) if profile else location
            name = ".".join(map(str, place))
            yield from _script(place, name, script)
            if isinstance(steps, int) and len(script) > steps:
                text = f"{len(script)} steps in a budget of {steps}; write a larger budget.steps"
                yield place, f"{name}: {text}"


def _script(place: Location, name: str, script: list[Any]) -> Found:
    for number, step in enumerate(script):
        try:
            move = parse_step(step)
        except BadMove as mistake:
            yield (*place, number), f"{name}, step {number + 1}: {mistake}"
            continue
        if move.verb == "done" and number + 1 < len(script):
            yield (*place, number), f"{name}: there are steps after done; remove them"


def _oracles(data: Any) -> Found:
    """Violations are identified by name, so each oracle needs its own."""
    seen: set[str] = set()
    for place, oracle in _items(data, *ORACLES):
        name = oracle.get("name")
        if isinstance(name, str) and name in seen:
            yield (*place, "name"), f"two oracles are named {name!r}; give each its own name"
        seen.add(str(name))


def _responses(data: Any) -> Found:
    """The site has one answer for each method and path."""
    seen: set[tuple[str, str]] = set()
    for place, response in _items(data, ("responses",)):
        request = (str(response.get("method", "GET")), str(response.get("path")))
        if request in seen:
            yield place, f"a second response to {' '.join(request)}; remove one"
        seen.add(request)


def _site_questions(data: Any) -> Found:
    text = "this asks the case's site, but there is no site/ folder; make one or write responses"
    for place, oracle in _items(data, *ORACLES):
        for within, question in [((), oracle), *_items(oracle, *PARTS)]:
            for kind in question.keys() & {"receipt", "posted"}:
                yield (*place, *within, kind), text


def _params(data: Any) -> Found:
    own, *later = NAMES
    taken = {*_names(data, own), "site"}
    if "site" in _names(data, own):
        yield (*own, "site"), "'site' is the site's address; choose another name"
    for location in later:
        names = _names(data, location).keys()
        for name in names & taken:
            yield (*location, name), f"the name {name!r} is used already; choose another"
        taken |= names


def _templates(
    path: Path, document: Document, site: Mapping[str, str], served: bool
) -> Iterator[Mistake]:
    own, added, injected = (_names(document.data, location) for location in NAMES)
    base: dict[str, object] = {**own, "site": None}
    # Goal, oracles and scripts are the same in both variants; only setup and pages may differ.
    world = {**base, **injected}
    known = {"setup": world, "responses": world, "attack": {**base, **added}}
    used, mistakes = site_uses(path.parent, site, world)
    yield from mistakes
    for location, text, line in document.scalars():
        try:
            text.encode()
        except UnicodeEncodeError:
            yield Mistake(path, line, "this has half a character; write the whole one")
            continue
        if not is_template(text):
            continue
        place = ".".join(map(str, location))
        try:
            names = inspect(text)
        except BadTemplate as mistake:
            yield Mistake(path, line, f"{place}: {mistake}")
            continue
        used |= names
        wrong = undefined(names, known.get(str(location[0]), base)) if location else ""
        if "params" in location[:2]:
            wrong = "a param is drawn, not rendered; write plain values"
        elif "site" in names and not served:
            wrong = "there is no site/ folder beside this file; make one or remove {{ site }}"
        if wrong:
            yield Mistake(path, line, f"{place}: {wrong}")
    for location in NAMES:
        for name in _names(document.data, location).keys() - used:
            text = f"nothing uses {name!r}; remove it or use it"
            yield Mistake(path, document.line((*location, name)), text)
