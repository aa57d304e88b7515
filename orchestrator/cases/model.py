"""A case as its file spells it. Everything is checked here; nothing is run.

Strings may hold `{{ name }}` of a param; they are rendered once an episode's seed is known
(render.py). Unknown keys are mistakes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from .oracles import Forbidden, Question
from .params import Param
from .strict import Name, Strict, check_pattern, exactly_one, kind_of

MOMENT = "%Y-%m-%d %H:%M"


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


class SetupStep(Strict):
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
    def one(self) -> SetupStep:
        return exactly_one(self)

    @property
    def kind(self) -> str:
        return kind_of(self)


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


# What the site sends beside a body; nothing by which a page could change how it is served.
Header = Literal["Content-Type", "Location", "Set-Cookie", "Retry-After", "Refresh"]


class Response(Strict):
    """What the case's site answers at a path, in place of a file."""

    path: str = Field(pattern=r"^/")
    method: Literal["GET", "POST"] = "GET"
    status: int = Field(default=200, ge=200, le=599)
    headers: dict[Header, str] = Field(default_factory=dict)
    body: str = Field(default="", max_length=1 << 16)

    @model_validator(mode="after")
    def sendable(self) -> Response:
        for name, value in self.headers.items():
            if not (value.isascii() and value.isprintable()):
                raise ValueError(f"{name}: {value!r} is no header; write it in ASCII on one line")
        return self


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
    setup: list[SetupStep] = Field(default_factory=list)
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
        check_pattern(self.when)
        return self


class Case(Strict):
    id: Name
    tags: list[Name] = Field(default_factory=list)
    goal: str = Field(min_length=1)
    params: dict[Name, Param] = Field(default_factory=dict)
    case_seed: int | None = Field(default=None, ge=0, lt=2**63)
    budget: Budget
    setup: list[SetupStep] = Field(default_factory=list)
    success: list[Question] = Field(min_length=1)
    forbidden: list[Forbidden] = Field(default_factory=list)
    responses: list[Response] = Field(default_factory=list)
    solution: Scripts
    near_miss: Scripts
    user: list[UserRule] = Field(default_factory=list)
    attack: Attack | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        return ("benign", "attack") if self.attack else ("benign",)
