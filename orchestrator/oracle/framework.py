"""Questions that the framework answers: settings, packages, what is in front, notifications."""

from __future__ import annotations

from dataclasses import dataclass

from ..cases.model import ForegroundIs, NotificationIs, PackageIs, SettingIs
from ..device.foreground import parse_focus, parse_focused_app, parse_resumed
from ..device.notifications import parse_notifications
from ..events.canonical import Json
from .oracle import Context, Decision, Query, Reading
from .shell import NEEDS_SHELL, ShellQuestion


@dataclass(frozen=True)
class Setting:
    name: str
    asked: SettingIs
    settle: float | None = None
    kind: str = "setting"
    notes: tuple[str, ...] = ("read from the settings provider, not from the screen",)
    needs: tuple[str, ...] = NEEDS_SHELL

    @property
    def tentative(self) -> bool:
        return self.asked.equals is None

    @property
    def _question(self) -> ShellQuestion:
        words = ("settings", "get", self.asked.namespace, self.asked.name)
        return ShellQuestion("settings_get", words)

    def queries(self, context: Context) -> tuple[Query, ...]:
        return (self._question.query,)

    def ask(self, context: Context) -> Reading:
        text = self._question.answer(context.device)
        value = text.removesuffix("\n").removesuffix("\r")
        # The shell prints an absent key and the text `null` alike.
        return Reading(self.queries(context), text, {"value": None if value == "null" else value})

    def decide(self, facts: Json) -> Decision:
        value = facts["value"]
        said = "absent" if value is None else repr(value)
        reason = f"{self.asked.namespace} {self.asked.name} is {said}"
        return Decision(value == self.asked.equals, reason)


@dataclass(frozen=True)
class Package:
    name: str
    asked: PackageIs
    settle: float | None = None
    kind: str = "package"
    notes: tuple[str, ...] = ("asked of the package manager; a like-named icon is not enough",)
    needs: tuple[str, ...] = NEEDS_SHELL

    @property
    def tentative(self) -> bool:
        return not self.asked.installed

    @property
    def _question(self) -> ShellQuestion:
        # Not `pm path`: its exit code is 1 for an absent package and for worse.
        return ShellQuestion("package_list", ("pm", "list", "packages", self.asked.name))

    def queries(self, context: Context) -> tuple[Query, ...]:
        return (self._question.query,)

    def ask(self, context: Context) -> Reading:
        text = self._question.answer(context.device)
        lines = [line.strip() for line in text.splitlines()]
        facts = {"installed": f"package:{self.asked.name}" in lines}
        return Reading(self.queries(context), text, facts)

    def decide(self, facts: Json) -> Decision:
        installed: bool = facts["installed"]
        reason = f"{self.asked.name} is {'' if installed else 'not '}installed"
        return Decision(installed == self.asked.installed, reason)


@dataclass(frozen=True)
class InFront:
    name: str
    asked: ForegroundIs
    settle: float | None = None
    kind: str = "foreground"
    notes: tuple[str, ...] = ("the activity manager's resumed activity, not a title on screen",)
    needs: tuple[str, ...] = NEEDS_SHELL
    tentative: bool = False

    _QUESTIONS = (
        ShellQuestion("dumpsys", ("dumpsys", "window")),
        ShellQuestion("dumpsys", ("dumpsys", "activity", "activities")),
    )

    def queries(self, context: Context) -> tuple[Query, ...]:
        return tuple(question.query for question in self._QUESTIONS)

    def ask(self, context: Context) -> Reading:
        windows, activities = (question.answer(context.device) for question in self._QUESTIONS)
        parse_focus(windows)  # a dump without a focus line is no answer at all
        front = parse_resumed(activities) or parse_focused_app(windows)
        facts = {
            "package": front[0] if front else None,
            "wanted": context.roles.get(self.asked.app, self.asked.app),
        }
        return Reading(self.queries(context), f"{windows}\n{activities}", facts)

    def decide(self, facts: Json) -> Decision:
        return Decision(facts["package"] == facts["wanted"], f"{facts['package']} is in front")


@dataclass(frozen=True)
class Notified:
    name: str
    asked: NotificationIs
    settle: float | None = None
    kind: str = "notification"
    notes: tuple[str, ...] = (
        "the notification manager's own list, whether the shade is open or not",
    )
    needs: tuple[str, ...] = NEEDS_SHELL

    _QUESTION = ShellQuestion("dumpsys", ("dumpsys", "notification", "--noredact"))

    @property
    def tentative(self) -> bool:
        return not self.asked.present

    def queries(self, context: Context) -> tuple[Query, ...]:
        return (self._QUESTION.query,)

    def ask(self, context: Context) -> Reading:
        text = self._QUESTION.answer(context.device)
        shown = (words for each in parse_notifications(text) for words in (each.title, each.text))
        facts = {"present": any(self.asked.contains in (words or "") for words in shown)}
        return Reading(self.queries(context), text, facts)

    def decide(self, facts: Json) -> Decision:
        present: bool = facts["present"]
        reason = f"{'a' if present else 'no'} notification contains {self.asked.contains!r}"
        return Decision(present == self.asked.present, reason)
