"""A page's form elements, read tag by tag: controls, what names them, and where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .address import BadAddress, join
from .build import Builder, Inside
from .controls import CHECKS, DEFAULT_WORDS, PRESSES, add_option, control_of, input_type, pixels
from .document import Block, Control, Form

MOST_FORMS, MOST_HIDDEN = 100, 200


@dataclass
class Open:
    """A control whose words are still being read."""

    control: Control
    block: Block
    words: list[str] = field(default_factory=list)
    option: str | None = None  # the value of the option that is being read
    selected: bool = False


class FormReader:
    def __init__(self, built: Builder) -> None:
        self._built = built
        self._form = -1
        self._select: Open | None = None
        self._button: Open | None = None
        self._area: Control | None = None
        self._label_for: str | None = None  # None outside of every label
        self._label_words: list[str] = []
        self._label_controls: list[Control] = []
        self._named: dict[str, str] = {}  # words of labels by the id they are for
        self._ids: dict[str, Control] = {}

    def take(self, words: str) -> bool:
        """Whether these words belong to a control and are no words of the page."""
        if self._select is not None:
            self._select.words.append(words)
            return True
        if self._label_for is not None:
            self._label_words.append(words)
        if self._button is not None:
            self._button.words.append(words)
        return self._button is not None

    def fill_area(self, text: str) -> None:
        if self._area is not None:
            self._area["value"] = text.removeprefix("\n")

    def form_start(self, attributes: dict[str, str], inside: Inside) -> None:
        if len(self._built.document["forms"]) >= MOST_FORMS:
            return
        method = "POST" if attributes.get("method", "").strip().lower() == "post" else "GET"
        base = self._built.document["base"]
        try:
            action = join(base, attributes.get("action", ""))
        except BadAddress:
            action = base
        self._form = len(self._built.document["forms"])
        self._built.document["forms"].append(Form(action=action, method=method, hidden=[]))

    def form_end(self, inside: Inside) -> None:
        self._form = -1

    def input(self, attributes: dict[str, str], inside: Inside) -> None:
        kind = input_type(attributes)
        control = control_of(attributes, kind, self._form)
        if kind == "hidden" or inside.hidden:
            if self._form >= 0 and kind not in PRESSES and (kind not in CHECKS or control["on"]):
                hidden = self._built.document["forms"][self._form]["hidden"]
                if len(hidden) < MOST_HIDDEN:
                    hidden.append([control["name"], control["value"]])
            return
        self.know(control, attributes)
        if kind in CHECKS:
            words = self._built.take_back() if self._label_for is not None else ""
            self._built.control(Block(kind="check", label=words), control)
        elif kind in PRESSES:
            words = attributes.get("value") or attributes.get("alt") or DEFAULT_WORDS[kind]
            self._built.control(Block(kind="button", label=words[:200]), control)
        elif kind == "file":
            control["enabled"] = False
            self._built.control(Block(kind="button", label="Choose file"), control)
        else:
            self._built.control(Block(kind="field"), control)

    def know(self, control: Control, attributes: dict[str, str]) -> None:
        """Whom a label may name."""
        if self._label_for is not None:
            self._label_controls.append(control)
        if "id" in attributes:
            self._ids.setdefault(attributes["id"], control)

    def text_area(self, attributes: dict[str, str], inside: Inside) -> None:
        self._area = control_of(attributes, "text", self._form)
        self._area["lines"] = max(2, min(pixels(attributes.get("rows", "3")), 8))
        self._area["value"] = ""
        if not inside.hidden:
            self.know(self._area, attributes)

    def text_area_end(self, inside: Inside) -> None:
        if self._area is not None and not inside.hidden:
            self._built.control(Block(kind="field"), self._area)
        self._area = None

    def select_start(self, attributes: dict[str, str], inside: Inside) -> None:
        control = control_of(attributes, "select", self._form)
        self.know(control, attributes)
        self._select = Open(control, Block(kind="select"))

    def option(self, attributes: dict[str, str], inside: Inside) -> None:
        if self._select is not None:
            self._select.words = []
            self._select.option = attributes.get("value", "\0")
            self._select.selected = "selected" in attributes

    def option_end(self, inside: Inside) -> None:
        opened = self._select
        if opened is not None and opened.option is not None and not inside.hidden:
            value = None if opened.option == "\0" else opened.option
            words = "".join(opened.words)
            add_option(opened.control, words, value, selected=opened.selected)
            opened.option = None

    def select_end(self, inside: Inside) -> None:
        opened, self._select = self._select, None
        if opened is not None and not inside.hidden:
            self._built.control(opened.block, opened.control)

    def button_start(self, attributes: dict[str, str], inside: Inside) -> None:
        kind = attributes.get("type", "submit").strip().lower()
        control = control_of(attributes, kind if kind in PRESSES else "submit", self._form)
        self._button = Open(control, Block(kind="button"))

    def button_end(self, inside: Inside) -> None:
        opened, self._button = self._button, None
        if opened is not None and not inside.hidden:
            words = " ".join("".join(opened.words).split())[:200]
            opened.block["label"] = words or opened.control["desc"] or "Button"
            self._built.control(opened.block, opened.control)

    def label_start(self, attributes: dict[str, str], inside: Inside) -> None:
        self._label_for = attributes.get("for", "")
        self._label_words, self._label_controls = [], []

    def label_end(self, inside: Inside) -> None:
        words = " ".join("".join(self._label_words).split())[:200]
        for control in self._label_controls:
            control["desc"] = control["desc"] or words
        if self._label_for and words:
            self._named.setdefault(self._label_for, words)
        if any(control["type"] in CHECKS for control in self._label_controls):
            self._built.flush()
        self._label_for = None

    def name_controls(self) -> None:
        for name, words in self._named.items():
            if name in self._ids:
                self._ids[name]["desc"] = self._ids[name]["desc"] or words


FORM_STARTS: dict[str, Callable[[FormReader, dict[str, str], Inside], None]] = {
    "button": FormReader.button_start,
    "form": FormReader.form_start,
    "input": FormReader.input,
    "label": FormReader.label_start,
    "option": FormReader.option,
    "select": FormReader.select_start,
    "textarea": FormReader.text_area,
}
FORM_ENDS: dict[str, Callable[[FormReader, Inside], None]] = {
    "button": FormReader.button_end,
    "form": FormReader.form_end,
    "label": FormReader.label_end,
    "option": FormReader.option_end,
    "select": FormReader.select_end,
    "textarea": FormReader.text_area_end,
}
