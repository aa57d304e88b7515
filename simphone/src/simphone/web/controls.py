"""A page's form elements: from tags to controls, and from controls to what is sent."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit, urlunsplit

from .document import LONGEST_VALUE, MOST_OPTIONS, Control, Document
from .fetch import Wanted

CHECKS = ("checkbox", "radio")
PRESSES = ("submit", "image", "button", "reset")
DEFAULT_WORDS = {"submit": "Submit", "image": "Submit", "reset": "Reset", "button": "Button"}


def control_of(attributes: Mapping[str, str], kind: str, form: int) -> Control:
    """A control as its tag describes it."""
    hint = attributes.get("placeholder", "")[:200]
    on_by_default = "on" if kind in CHECKS else ""
    spoken = attributes.get("aria-label") or attributes.get("title") or ""
    return Control(
        type=kind,
        form=form,
        name=attributes.get("name", "")[:200],
        value=attributes.get("value", on_by_default)[:LONGEST_VALUE],
        on="checked" in attributes,
        hint=hint,
        desc=spoken[:200],
        lines=1,
        options=[],
        enabled="disabled" not in attributes,
    )


def pixels(value: str) -> int:
    digits = value.strip().removesuffix("px")
    return (
        min(int(digits), 4000) if digits.isdecimal() and digits.isascii() and len(digits) < 9 else 0
    )


def input_type(attributes: Mapping[str, str]) -> str:
    """What an <input> is to us: text | password | hidden | checkbox | radio | submit ..."""
    named = attributes.get("type", "text").strip().lower()
    if named in CHECKS or named in PRESSES or named in ("password", "hidden"):
        return named
    return "file" if named == "file" else "text"


def add_option(control: Control, words: str, value: str | None, *, selected: bool) -> None:
    words = " ".join(words.split())[:200]
    if len(control["options"]) >= MOST_OPTIONS:
        return
    chosen = words if value is None else value[:200]
    if selected or not control["options"]:
        control["value"] = chosen
    control["options"].append([chosen, words])


def key(number: int) -> str:
    """Where a control's state is kept among a screen's fields."""
    return f"w{number}"


def first_state(document: Document) -> dict[str, str]:
    """Every control as the page has it at first."""
    state = {}
    for number, control in enumerate(document["controls"]):
        if control["type"] in CHECKS:
            state[key(number)] = "1" if control["on"] else ""
        elif control["type"] not in PRESSES:
            state[key(number)] = control["value"]
    return state


def check(document: Document, state: dict[str, str], number: int) -> None:
    """A tap on a check box turns it; one on a radio button turns the others of its group off."""
    control = document["controls"][number]
    if control["type"] == "checkbox":
        state[key(number)] = "" if state.get(key(number)) else "1"
        return
    for other, each in enumerate(document["controls"]):
        same = (each["form"], each["name"]) == (control["form"], control["name"])
        if each["type"] == "radio" and same:
            state[key(other)] = ""
    state[key(number)] = "1"


def default_button(document: Document, form: int) -> int:
    """What enter in a field presses: the form's first submit button; -1 where it has none."""
    return next(
        (
            number
            for number, control in enumerate(document["controls"])
            if control["form"] == form and control["type"] in ("submit", "image")
        ),
        -1,
    )


def submission(document: Document, state: Mapping[str, str], number: int) -> Wanted | None:
    """What pressing this control, or enter in it, asks the server for; None outside a form."""
    pressed = document["controls"][number]
    if pressed["form"] < 0:
        return None
    form = document["forms"][pressed["form"]]
    if pressed["type"] not in PRESSES:
        number = default_button(document, pressed["form"])
    pairs = [(name, value) for name, value in form["hidden"] if name]
    for place, control in enumerate(document["controls"]):
        if control["form"] != pressed["form"] or not control["name"] or not control["enabled"]:
            continue
        if control["type"] in PRESSES:
            if place == number and control["type"] in ("submit", "image"):
                pairs.append((control["name"], control["value"]))
        elif control["type"] in CHECKS:
            if state.get(key(place)):
                pairs.append((control["name"], control["value"]))
        else:
            pairs.append((control["name"], state.get(key(place), "").replace("\n", "\r\n")))
    encoded = urlencode(pairs, errors="replace")
    if form["method"] == "POST":
        return Wanted(form["action"], "POST", encoded)
    parts = urlsplit(form["action"])
    return Wanted(urlunsplit((parts.scheme, parts.netloc, parts.path, encoded, "")))
