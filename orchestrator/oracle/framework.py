"""Oracles on settings, providers' rows, packages, the foreground app and notifications."""

from __future__ import annotations

from ..cases.oracles import ForegroundIs, NotificationIs, PackageIs, RowsAre, Scalar, SettingIs
from ..device.faults import DeviceFault
from ..device.foreground import full_activity, parse_focus, parse_front
from ..device.notifications import parse_notifications
from ..device.packages import parse_installed, parse_package_lines
from ..device.providers import PROVIDERS, SETTINGS_PACKAGE, parse_rows, provider_package, quoted
from ..events.canonical import Json
from .oracle import CountOracle, Decision, Inquiry, Oracle, output

_KEY = "_id"  # every row of every provider has one


class SettingOracle(Oracle[SettingIs]):
    notes = ("read from the settings provider, not from the screen",)
    depends_on = (SETTINGS_PACKAGE,)

    @property
    def tentative(self) -> bool:
        return self.asked.equals is None

    def inquire(self) -> Inquiry:
        words = ("settings", "get", self.asked.namespace, self.asked.name)
        text = yield from output("settings_get", *words)
        value = text.removesuffix("\n").removesuffix("\r")
        # The shell prints an absent key and the text `null` the same way.
        return {"value": None if value == "null" else value}

    def decide(self, facts: Json) -> Decision:
        value = facts["value"]
        shown = "absent" if value is None else repr(value)
        reason = f"{self.asked.namespace} {self.asked.name} is {shown}"
        return Decision(value == self.asked.equals, reason)


class RowsOracle(CountOracle[RowsAre]):
    """The provider does the comparison: the query names every column, and only row ids are printed.
    A message's text would be printed unescaped, so it could be written to look like more rows."""

    notes = (
        "asked of the content provider, not of the screen",
        "compared by the provider: no text of a row is parsed, so none can imitate another row",
    )
    what = "rows"

    @property
    def depends_on(self) -> tuple[str, ...]:
        return (provider_package(self._uri),)

    @property
    def _uri(self) -> str:
        return self.asked.uri or PROVIDERS[str(self.asked.provider)]

    def inquire(self) -> Inquiry:
        words = ("content", "query", "--uri", self._uri, "--projection", _KEY)
        match = self.asked.match
        where = " AND ".join(_condition(column, match[column]) for column in sorted(match))
        text = yield from output("content_query", *words, "--where", where, root=self.asked.root)
        ids = [str(row[_KEY]) for row in parse_rows(text, [_KEY])]
        if not all(id.lstrip("-").isdecimal() for id in ids):
            raise DeviceFault("bad_answer", f"not row ids: {text[:200]!r}", during="content query")
        return {self.what: len(ids)}


def _condition(column: str, value: Scalar) -> str:
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, str):
        return f"{column}={quoted(value)}"
    return f"{column}={int(value) if isinstance(value, bool) else repr(value)}"


class PackageOracle(Oracle[PackageIs]):
    notes = ("asked of the package manager; a like-named icon is not enough",)

    @property
    def tentative(self) -> bool:
        return not self.asked.installed

    @property
    def _inside(self) -> bool:
        """Whether the question asks for more than the installation."""
        return (self.asked.version, self.asked.installer) != (None, None)

    def inquire(self) -> Inquiry:
        name = self.asked.name
        # Not `pm path`: its exit code is 1 for an absent package and for other failures.
        text = yield from output("package_list", "pm", "list", "packages", name)
        facts: dict[str, Json] = {"installed": name in parse_package_lines(text)}
        if facts["installed"] and self._inside:
            text = yield from output("dumpsys", "dumpsys", "package", name)
            found = parse_installed(text, name)
            if self.asked.version is not None:
                facts["version"] = found.version.name
            if self.asked.installer is not None:
                facts["installer"] = found.installer
        return facts

    def decide(self, facts: Json) -> Decision:
        asked, installed = self.asked, facts["installed"]
        if not installed or not self._inside:
            reason = f"{asked.name} is {'' if installed else 'not '}installed"
            return Decision(installed == asked.installed, reason)
        wanted = {"version": asked.version, "installer": asked.installer}
        differs = (key for key, value in wanted.items() if value not in (None, facts.get(key)))
        wrong = [f"{key} {facts[key]!r}" for key in differs]
        return Decision(not wrong, f"{asked.name} has {' and '.join(wrong) or 'what is wanted'}")


class ForegroundOracle(Oracle[ForegroundIs]):
    notes = ("the activity manager's resumed activity, not a title on screen",)

    @property
    def depends_on(self) -> tuple[str, ...]:
        return (self.asked.app,)

    def inquire(self) -> Inquiry:
        windows = yield from output("dumpsys", "dumpsys", "window")
        activities = yield from output("dumpsys", "dumpsys", "activity", "activities")
        parse_focus(windows)  # a dump without a focus line is not an answer
        package, activity = parse_front(windows, activities)
        facts = {"package": package}
        return facts if self.asked.activity is None else {**facts, "activity": activity}

    def decide(self, facts: Json) -> Decision:
        app, activity = self.asked.app, self.asked.activity
        if activity is None or facts["package"] != app:
            return Decision(facts["package"] == app, f"{facts['package']} is in front")
        holds = facts["activity"] == full_activity(app, activity)
        return Decision(holds, f"{facts['activity']} of {app} is in front")


class NotificationOracle(Oracle[NotificationIs]):
    notes = ("the notification manager's own list, whether the shade is open or not",)

    @property
    def tentative(self) -> bool:
        return not self.asked.present

    def inquire(self) -> Inquiry:
        text = yield from output("dumpsys", "dumpsys", "notification", "--noredact")
        shown = (part for each in parse_notifications(text) for part in (each.title, each.text))
        return {"present": any(self.asked.contains in (part or "") for part in shown)}

    def decide(self, facts: Json) -> Decision:
        present: bool = facts["present"]
        reason = f"{'a' if present else 'no'} notification contains {self.asked.contains!r}"
        return Decision(present == self.asked.present, reason)
