"""A case as its file spells it. Everything is checked here; nothing is run.

Strings may hold `{{ name }}` of a param; they are rendered once an episode's seed is known
(render.py). Unknown keys are mistakes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from .params import Param
from .strict import Name, Strict

Scalar = str | int | float | bool | None
MOMENT = "%Y-%m-%d %H:%M"
COLUMN = r"^[A-Za-z_][A-Za-z0-9_]*$"
Column = Annotated[str, Field(pattern=COLUMN)]


class Budget(Strict):
    steps: int = Field(ge=1, le=500)
    seconds: float = Field(gt=0, le=3600)  # the agent's own time


# Setup: each step has a postcondition of its own that is polled to truth.


class SetSetting(Strict):
    namespace: Literal["system", "secure", "global"]
    name: str
    value: str


class PutFile(Strict):
    path: str = Field(pattern=r"^/")
    text: str


class ReceiveSms(Strict):
    sender: str = Field(alias="from")
    text: str


class AddContact(Strict):
    name: str
    phone: str = ""
    email: str = ""
    note: str = ""


class AddEvent(Strict):
    title: str
    start: str  # 2031-05-12 09:00, the phone's UTC
    minutes: int = Field(default=60, ge=1)
    location: str = ""
    description: str = ""

    @model_validator(mode="after")
    def dated(self) -> AddEvent:
        if "{{" not in self.start:
            try:
                datetime.strptime(self.start, MOMENT).replace(tzinfo=UTC)
            except ValueError:
                raise ValueError(
                    f"{self.start!r} is no start; write it like '2031-05-12 09:00'"
                ) from None
        return self


class PostNotification(Strict):
    title: str
    text: str
    tag: Name


class MakeFolder(Strict):
    path: str = Field(pattern=r"^/")


class RunShell(Strict):
    """For what no other step does: a command, and a second one whose output proves it."""

    run: str
    check: str
    expect: str  # the check's output, stripped
    root: bool = False


class Step(Strict):
    """One setup step: exactly one of these."""

    setting: SetSetting | None = None
    file: PutFile | None = None
    folder: MakeFolder | None = None
    sms: ReceiveSms | None = None
    contact: AddContact | None = None
    event: AddEvent | None = None
    notification: PostNotification | None = None
    shell: RunShell | None = None

    @model_validator(mode="after")
    def one(self) -> Step:
        return _exactly_one(self)

    @property
    def kind(self) -> str:
        return _kind(self)


# Oracles: hard questions about device state.


class SettingIs(Strict):
    namespace: Literal["system", "secure", "global"]
    name: str
    equals: str | None  # null: the key is absent


class RowsAre(Strict):
    """Rows of a content provider in which every named column has this value."""

    uri: str = Field(pattern=r"^content://")
    match: dict[Column, Scalar] = Field(min_length=1)
    count: int | None = None  # exactly; None: at least one
    root: bool = False


class FileIs(Strict):
    path: str = Field(pattern=r"^/")
    exists: bool = True
    text: str | None = None  # exactly
    contains: str | None = None
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    json_: dict[str, Scalar] | None = Field(default=None, alias="json")  # a.b.0 -> value
    root: bool = False

    @model_validator(mode="after")
    def sensible(self) -> FileIs:
        if not self.exists and any((self.text, self.contains, self.sha256, self.json_)):
            raise ValueError("a file that does not exist has no content; leave one of them out")
        return self


class PackageIs(Strict):
    name: str
    installed: bool = True


class ForegroundIs(Strict):
    app: str  # a role of the profile, or a package


class NotificationIs(Strict):
    contains: str  # in its title or text
    present: bool = True


class SqliteIs(Strict):
    """A read-only query on a database of the phone, pulled with its write-ahead log."""

    path: str = Field(pattern=r"^/")
    sql: str
    equals: list[list[Scalar]]


class AnswerIs(Strict):
    """What the agent answered."""

    equals: str | None = None  # spaces folded, case ignored
    contains: str | None = None
    matches: str | None = None  # a regular expression, searched

    @model_validator(mode="after")
    def asked(self) -> AnswerIs:
        if (self.equals, self.contains, self.matches).count(None) != 2:
            raise ValueError("write one of equals, contains, matches")
        if self.matches is not None:
            _check_pattern(self.matches)
        return self


class ReceiptIs(Strict):
    """Requests that the case's site received."""

    path: str = Field(pattern=r"^/")
    method: Literal["GET", "POST"] = "GET"
    form: dict[str, str] = Field(default_factory=dict)
    count: int | None = None  # exactly; None: at least one


class Question(Strict):
    """One oracle: a name, exactly one question, and how patient it is."""

    name: Name
    setting: SettingIs | None = None
    rows: RowsAre | None = None
    file: FileIs | None = None
    package: PackageIs | None = None
    foreground: ForegroundIs | None = None
    notification: NotificationIs | None = None
    sqlite: SqliteIs | None = None
    answer: AnswerIs | None = None
    receipt: ReceiptIs | None = None
    settle: float | None = Field(default=None, ge=0, le=120)  # seconds; None: the profile's

    @model_validator(mode="after")
    def one(self) -> Question:
        return _exactly_one(self)

    @property
    def kind(self) -> str:
        return _kind(self)


class Forbidden(Question):
    """An effect that must not be there; seen at a step, it stays seen."""

    watch: Literal["step", "end"] = "end"


Script = list[dict[str, Any]]  # actions in the agents' own language, elements named by their words
# One for all profiles, or one by profile.
Scripts = Annotated[
    Annotated[Script, Tag("one")] | Annotated[dict[str, Script], Tag("by_profile")],
    Discriminator(
        lambda value: {list: "one", dict: "by_profile"}.get(type(value)),
        custom_error_type="scripts",
        custom_error_message="not a script; write a list of steps, or one list by profile",
    ),
]


class Labels(Strict):
    type: Literal["adversarial", "hazard"] = "adversarial"
    tier: Literal["T0", "T1", "T2"] = "T1"
    impact: Literal["probe", "canary", "highrisk"] = "canary"
    channel: str
    primitive: str = ""
    boundary: str = ""
    objective: str = ""


class Attack(Strict):
    """What is added to a case's own world, and what must not come of it.

    `inject` puts words into the very content that the agent must read: each name may stand in the
    case's setup and pages, and is empty in the benign variant.
    """

    labels: Labels
    inject: dict[Name, str] = Field(default_factory=dict)
    setup: list[Step] = Field(default_factory=list)
    forbidden: list[Forbidden] = Field(min_length=1)
    bait: Scripts
    params: dict[Name, Param] = Field(default_factory=dict)


class UserRule(Strict):
    """How the simulated user answers: the first rule whose pattern is in the agent's words."""

    when: str
    answer: str = ""  # to ask_user
    grant: bool = False  # to confirm

    @model_validator(mode="after")
    def readable(self) -> UserRule:
        _check_pattern(self.when)
        return self


class Case(Strict):
    id: Name
    tags: list[Name] = Field(default_factory=list)
    goal: str = Field(min_length=1)
    params: dict[Name, Param] = Field(default_factory=dict)
    case_seed: int | None = Field(default=None, ge=0, lt=2**63)
    budget: Budget
    setup: list[Step] = Field(default_factory=list)
    success: list[Question] = Field(min_length=1)
    forbidden: list[Forbidden] = Field(default_factory=list)
    solution: Scripts
    near_miss: Scripts
    user: list[UserRule] = Field(default_factory=list)
    attack: Attack | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        return ("benign", "attack") if self.attack else ("benign",)


M = TypeVar("M", bound=BaseModel)
_OPTIONS = frozenset({"name", "settle", "watch"})


def _check_pattern(pattern: str) -> None:
    if "{{" in pattern:
        return  # known once it is rendered
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error


def _chosen(model: BaseModel) -> list[str]:
    names = [name for name in type(model).model_fields if name not in _OPTIONS]
    return [name for name in names if getattr(model, name) is not None]


def _exactly_one(model: M) -> M:
    chosen = _chosen(model)
    if len(chosen) != 1:
        known = [name for name in type(model).model_fields if name not in _OPTIONS]
        raise ValueError(f"write exactly one of {', '.join(known)}; found {chosen or 'none'}")
    return model


def _kind(model: BaseModel) -> str:
    return _chosen(model)[0]
