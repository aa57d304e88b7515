"""Checks case files for what the model cannot: scripts, templates, and names that must agree.

Every rule reads the raw document, so that one mistake does not hide another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .mistakes import Mistake
from .script import BadMove, parse_step
from .site import site_uses
from .templates import BadTemplate, inspect, is_template, undefined
from .yaml_document import Document, Location

SCRIPTS: tuple[Location, ...] = (("solution",), ("near_miss",), ("attack", "bait"))
ORACLES: tuple[Location, ...] = (("success",), ("forbidden",), ("attack", "forbidden"))
Found = Iterator[tuple[Location, str]]  # a location, and what is wrong there


def rule_mistakes(path: Path, document: Document, site: Mapping[str, str]) -> list[Mistake]:
    """Every broken rule in one case file and in the pages of its site."""
    rules = (
        _identity(path, document), _scripts(document), _oracles(document), _responses(document),
        _params(document),
    )  # fmt: skip
    mistakes = [Mistake(path, document.line(place), text) for rule in rules for place, text in rule]
    mistakes += [
        Mistake(path, line, f"{key} is written twice; remove one")
        for key, line in document.repeated()
    ]
    return mistakes + _templates(path, document, site) + _receipts(path, document, site)


def _at(data: Any, location: Location) -> Any:
    for part in location:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _names(data: Any, location: Location) -> dict[str, object]:
    found = _at(data, location)
    return {str(name): None for name in found} if isinstance(found, dict) else {}


def _items(data: Any, location: Location) -> list[Any]:
    found = _at(data, location)
    return found if isinstance(found, list) else []


def _identity(path: Path, document: Document) -> Found:
    name = path.parent.resolve().name
    id = _at(document.data, ("id",))
    if isinstance(id, str) and id != name:
        yield ("id",), f"the id is {id!r} but the folder is {name!r}; write id: {name}"


def _scripts(document: Document) -> Found:
    steps = _at(document.data, ("budget", "steps"))
    for location in SCRIPTS:
        found = _at(document.data, location)
        by_profile = found if isinstance(found, dict) else {"": found}
        for profile, script in by_profile.items():
            if not isinstance(script, list):
                continue  # the model reports it
            place = (*location, profile) if profile else location
            yield from _script(place, script)
            if isinstance(steps, int) and len(script) > steps:
                text = f"{len(script)} steps in a budget of {steps}; write a larger budget.steps"
                yield place, f"{'.'.join(map(str, place))}: {text}"


def _script(place: Location, script: list[Any]) -> Found:
    name = ".".join(map(str, place))
    for number, step in enumerate(script):
        try:
            move = parse_step(step)
        except BadMove as mistake:
            yield (*place, number), f"{name}, step {number + 1}: {mistake}"
            continue
        if move.verb == "done" and number + 1 < len(script):
            yield (*place, number), f"{name}: there are steps after done; remove them"


def _oracles(document: Document) -> Found:
    """Violations are identified by name, so each oracle needs its own."""
    seen: set[str] = set()
    for location in ORACLES:
        for number, oracle in enumerate(_items(document.data, location)):
            name = oracle.get("name") if isinstance(oracle, dict) else None
            if isinstance(name, str) and name in seen:
                text = f"two oracles are named {name!r}; give each its own name"
                yield (*location, number, "name"), text
            seen.add(str(name))


def _responses(document: Document) -> Found:
    """The site has one answer for each method and path."""
    seen: set[tuple[str, str]] = set()
    for number, response in enumerate(_items(document.data, ("responses",))):
        if not isinstance(response, dict):
            continue  # the model reports it
        request = (str(response.get("method", "GET")), str(response.get("path")))
        if request in seen:
            text = f"a second response to {' '.join(request)}; remove one"
            yield ("responses", number), text
        seen.add(request)


def _params(document: Document) -> Found:
    own = _names(document.data, ("params",))
    if "site" in own:
        yield ("params", "site"), "'site' is the site's address; choose another name"
    taken = {**own, "site": None}
    for group in ("params", "inject"):
        names = _names(document.data, ("attack", group))
        for name in names.keys() & taken.keys():
            text = f"the name {name!r} is used already; choose another"
            yield ("attack", group, name), text
        taken |= names


def _templates(path: Path, document: Document, site: Mapping[str, str]) -> list[Mistake]:
    own = _names(document.data, ("params",))
    added = _names(document.data, ("attack", "params"))
    injected = _names(document.data, ("attack", "inject"))
    base: dict[str, object] = {**own, "site": None}
    # Goal, oracles and scripts are the same in both variants; only setup and pages may differ.
    world = {**base, **injected}
    known = {"setup": world, "responses": world, "attack": {**base, **added}}
    used, mistakes = site_uses(path.parent, site, world)
    for location, text, line in document.scalars():
        try:
            text.encode()
        except UnicodeEncodeError:
            mistakes.append(Mistake(path, line, "this has half a character; write the whole one"))
            continue
        if not is_template(text):
            continue
        place = ".".join(map(str, location))
        try:
            names = inspect(text)
        except BadTemplate as mistake:
            mistakes.append(Mistake(path, line, f"{place}: {mistake}"))
            continue
        used |= names
        wrong = undefined(names, known.get(str(location[0]), base)) if location else ""
        if "params" in location[:2]:
            wrong = "a param is drawn, not rendered; write plain values"
        elif "site" in names and not _served(document, site):
            wrong = "there is no site/ folder beside this file; make one or remove {{ site }}"
        if wrong:
            mistakes.append(Mistake(path, line, f"{place}: {wrong}"))
    unused: list[tuple[Location, str]] = [(("params", name), name) for name in own.keys() - used]
    unused += [(("attack", "params", name), name) for name in added.keys() - used]
    unused += [(("attack", "inject", name), name) for name in injected.keys() - used]
    return mistakes + [
        Mistake(path, document.line(place), f"nothing uses {name!r}; remove it or use it")
        for place, name in unused
    ]


def _receipts(path: Path, document: Document, site: Mapping[str, str]) -> list[Mistake]:
    if _served(document, site):
        return []
    text = "this asks the case's site, but there is no site/ folder; make one or write responses"
    return [Mistake(path, document.line(place), text) for place in _site_question_places(document)]


def _served(document: Document, site: Mapping[str, str]) -> bool:
    return bool(site) or bool(_items(document.data, ("responses",)))


def _site_question_places(document: Document) -> Iterable[Location]:
    for location in ORACLES:
        for number, oracle in enumerate(_items(document.data, location)):
            yield from _site_questions((*location, number), oracle)
            for join in ("all", "any"):
                within = ("composite", join)
                for part, question in enumerate(_items(oracle, within)):
                    yield from _site_questions((*location, number, *within, part), question)


def _site_questions(place: Location, oracle: Any) -> Iterable[Location]:
    for kind in ("receipt", "posted"):
        if isinstance(oracle, dict) and kind in oracle:
            yield (*place, kind)
