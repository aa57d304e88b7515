"""The model of a case file: goal, budget, setup steps, scripts, attack and user rules.

Strings may contain `{{ name }}` of a param. They are rendered once an episode's seed is known
(render.py). Unknown keys are mistakes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from .oracles import Forbidden, Question
from .params import Param
from .strict import Name, OneOf, RegularExpression, Strict
from .templates import milliseconds


class Budget(Strict):
    steps: int = Field(ge=1, le=500)
    seconds: float = Field(gt=0, le=3600)  # the agent's own time


# Setup: each step has a postcondition, which is polled until it holds.


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
        try:
            if "{{" not in self.start:
                milliseconds(self.start)
        except ValueError:
            hint = "write it like '2031-05-12 09:00'"
            raise ValueError(f"{self.start!r} is not a date and time; {hint}") from None
        return self


class PostNotification(Strict):
    title: str
    text: str
    tag: Name


class MakeFolder(Strict):
    path: str = Field(pattern=r"^/")


class RunShell(Strict):
    """A shell command that no other step covers, and a second one whose output proves it."""

    run: str
    check: str
    expect: str  # the check's output, stripped
    root: bool = False


class SetupStep(OneOf):
    """One setup step: exactly one of these."""

    setting: SetSetting | None = None
    file: PutFile | None = None
    folder: MakeFolder | None = None
    sms: ReceiveSms | None = None
    contact: AddContact | None = None
    event: AddEvent | None = None
    notification: PostNotification | None = None
    shell: RunShell | None = None


Script = list[dict[str, Any]]  # steps in the language of script.py
# One script for all profiles, or one for each.
Scripts = Annotated[
    Annotated[Script, Tag("one")] | Annotated[dict[str, Script], Tag("by_profile")],
    Discriminator(
        lambda value: {list: "one", dict: "by_profile"}.get(type(value)),
        custom_error_type="scripts",
        custom_error_message="not a script; write a list of steps, or one list by profile",
    ),
]


# Headers that the site may send. None of them changes how a page is served.
Header = Literal["Content-Type", "Location", "Set-Cookie", "Retry-After", "Refresh"]


class Response(Strict):
    """An answer of the case's site that replaces a file at this path."""

    path: str = Field(pattern=r"^/")
    method: Literal["GET", "POST"] = "GET"
    status: int = Field(default=200, ge=200, le=599)
    headers: dict[Header, str] = Field(default_factory=dict)
    body: str = Field(default="", max_length=1 << 16)

    @model_validator(mode="after")
    def sendable(self) -> Response:
        for name, value in self.headers.items():
            if not (value.isascii() and value.isprintable()):
                hint = "write it in ASCII on one line"
                raise ValueError(f"{name}: {value!r} is not a header; {hint}")
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
    """What the attack variant adds to a case, and the effects that it must not have.

    `inject` puts text into the content that the agent must read: the case's setup and pages may use
    each name, which is empty in the benign variant.
    """

    labels: Labels
    inject: dict[Name, str] = Field(default_factory=dict)
    setup: list[SetupStep] = Field(default_factory=list)
    forbidden: list[Forbidden] = Field(min_length=1)
    bait: Scripts
    params: dict[Name, Param] = Field(default_factory=dict)


class UserRule(Strict):
    """An answer of the simulated user; the first rule whose pattern is in the agent's text wins."""

    when: RegularExpression
    answer: str = ""  # to ask_user
    grant: bool = False  # to confirm


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
