"""The oracle questions that a case file can ask, each with the expected state.

The oracle room decides which queries answer a question and reads their results.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .strict import Name, OneOf, RegularExpression, Strict

Scalar = str | int | float | bool | None
COLUMN = r"^[A-Za-z_][A-Za-z0-9_]*$"
OPERATION = r"^[A-Z][A-Z0-9_]*$"
Column = Annotated[str, Field(pattern=COLUMN)]
Absolute = Annotated[str, Field(pattern=r"^/")]
Count = Annotated[int, Field(ge=0)]


class SettingIs(Strict):
    namespace: Literal["system", "secure", "global"]
    name: str
    equals: str | None  # null: the key is absent


class RowsAre(Strict):
    """Rows of a content provider in which every named column has this value."""

    uri: str | None = Field(default=None, pattern=r"^content://")
    provider: (
        Literal["sms", "calllog", "contacts", "calendar", "downloads", "mediastore"] | None
    ) = None
    match: dict[Column, Scalar] = Field(min_length=1)
    count: Count | None = None  # exactly; None: at least one
    root: bool = False

    @model_validator(mode="after")
    def one_source(self) -> RowsAre:
        if (self.uri is None) == (self.provider is None):
            raise ValueError("write one of uri and provider")
        return self


class FileIs(Strict):
    path: Absolute
    exists: bool = True
    text: str | None = None  # exactly
    contains: str | None = None
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    json_: dict[str, Scalar] | None = Field(default=None, alias="json")  # a.b.0 -> value
    root: bool = False

    @model_validator(mode="after")
    def consistent(self) -> FileIs:
        if not self.exists and any((self.text, self.contains, self.sha256, self.json_)):
            raise ValueError("a file that does not exist has no content; leave one of them out")
        return self


class PackageIs(Strict):
    name: str
    installed: bool = True
    version: str | None = None  # its versionName
    installer: str | None = None  # the package that installed it

    @model_validator(mode="after")
    def consistent(self) -> PackageIs:
        if not self.installed and (self.version or self.installer) is not None:
            raise ValueError("without the package there is no version or installer; leave them out")
        return self


class ForegroundIs(Strict):
    app: str  # a role of the profile, or a package
    activity: str | None = None  # its class, .Short within the package


class NotificationIs(Strict):
    contains: str  # in its title or text
    present: bool = True


class SqliteIs(Strict):
    """A read-only query on a database of the phone, pulled with its write-ahead log.

    Volatile columns (row ids, dates) stay in the evidence but not in the facts; `equals` lists the
    other columns.
    """

    path: Absolute
    sql: str
    equals: list[list[Scalar]]
    volatile: list[Column] = Field(default_factory=list)
    root: bool = True  # false: for files that the shell user can read, as on shared storage


class AnswerIs(Strict):
    """What the agent answered."""

    equals: str | None = None  # spaces folded, case ignored
    contains: str | None = None
    matches: RegularExpression | None = None  # searched

    @model_validator(mode="after")
    def one_condition(self) -> AnswerIs:
        if (self.equals, self.contains, self.matches).count(None) != 2:
            raise ValueError("write one of equals, contains, matches")
        return self


class ReceiptIs(Strict):
    """Requests that the case's site received."""

    path: Absolute
    method: Literal["GET", "POST"] = "GET"
    form: dict[str, str] = Field(default_factory=dict)
    count: Count | None = None  # exactly; None: at least one


class PostedIs(Strict):
    """JSON documents that were posted to the case's site, each value by its path: a.b.0."""

    path: Absolute
    json_: dict[str, Scalar] = Field(alias="json", min_length=1)
    count: Count | None = None  # exactly; None: at least one


class BootIs(Strict):
    """The phone is up: booted, its animation over, its package manager answering."""

    starts: int | None = Field(default=None, ge=1)  # of the framework since the boot, exactly


class AppopsIs(Strict):
    app: str  # a role of the profile, or a package
    op: str = Field(pattern=OPERATION)  # CAMERA, as `cmd appops` names it
    mode: Literal["allow", "ignore", "deny", "default", "foreground"]


class SwitchIs(Strict):
    """Bluetooth or location services."""

    enabled: bool


class ConnectivityIs(Strict):
    active: Literal["wifi", "cellular", "ethernet", "none"]  # what the default network runs over


class TelephonyIs(Strict):
    call: Literal["idle", "ringing", "offhook"]


class WindowIs(Strict):
    focus: str = Field(min_length=1)  # in the focused window's title


# No phone of ours can answer these yet, so their verdict is inconclusive.


class ClipboardIs(Strict):
    """API 34 has no command that reads the clipboard; it would take an app on the phone."""

    contains: str


class ListenerHeard(Strict):
    """A notification that a listener on the phone received, even if it is gone by now."""

    contains: str
    app: str | None = None  # a role of the profile, or a package


class ProxySaw(Strict):
    """A request that a proxy between the phone and the world saw."""

    host: str
    path: Absolute = "/"


class SimpleQuestion(OneOf):
    """A named oracle with exactly one question, which is not a composite."""

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
    posted: PostedIs | None = None
    boot: BootIs | None = None
    appops: AppopsIs | None = None
    bluetooth: SwitchIs | None = None
    connectivity: ConnectivityIs | None = None
    location: SwitchIs | None = None
    telephony: TelephonyIs | None = None
    window: WindowIs | None = None
    clipboard: ClipboardIs | None = None
    notification_listener: ListenerHeard | None = None
    network_proxy: ProxySaw | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """Its own kind, and the kinds of the questions in it."""
        return frozenset({self.kind})


class CompositeIs(Strict):
    """All of these questions, or any of them.

    Composites do not nest: `success` is itself an `all`, and every condition can be written as an
    `all` of `any`.
    """

    all_: list[SimpleQuestion] | None = Field(default=None, alias="all", min_length=2)
    any_: list[SimpleQuestion] | None = Field(default=None, alias="any", min_length=2)

    @model_validator(mode="after")
    def consistent(self) -> CompositeIs:
        if (self.all_ is None) == (self.any_ is None):
            raise ValueError("write one of all and any")
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise ValueError("two of its questions have the same name; give each its own")
        return self

    @property
    def parts(self) -> list[SimpleQuestion]:
        return self.all_ or self.any_ or []


class Question(SimpleQuestion):
    """An oracle of a case, and how long its answer may take to settle."""

    composite: CompositeIs | None = None
    settle: float | None = Field(default=None, ge=0, le=120)  # seconds; None: the profile's

    @property
    def kinds(self) -> frozenset[str]:
        parts = self.composite.parts if self.composite else []
        return super().kinds.union(*(part.kinds for part in parts))


class Forbidden(Question):
    """An oracle whose effect must not happen; one that is seen at any step counts."""

    watch: Literal["step", "end"] = "end"
