"""Oracles on the system's state: boot, radios, calls, location, windows, app operations.

A service is asked with one dump or command, which the device room parses for the one value in
question. What needs a capability that no phone of ours has is never answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..cases.oracles import AppopsIs, BootIs
from ..device.foreground import parse_focus
from ..device.identity import CLIPBOARD, LISTENER, PROXY
from ..device.system_state import (
    parse_appop,
    parse_bluetooth,
    parse_call,
    parse_default_network,
    parse_location,
)
from ..events.canonical import Json
from .oracle import Decision, Inquiry, NoAnswer, Oracle, Query, output, shell


@dataclass(frozen=True)
class Service:
    """How one service is queried. The fact is the value in question and nothing else."""

    type: str
    words: tuple[str, ...]  # of the command
    note: str
    found: Callable[[str, Any], Json]  # the command's output, the question -> the fact
    wanted: Callable[[Any], Json]


SERVICES = {
    "bluetooth": Service(
        "dumpsys", ("dumpsys", "bluetooth_manager"),
        "the adapter's own state, not how a switch looks",
        lambda text, asked: parse_bluetooth(text), lambda asked: asked.enabled,
    ),
    "connectivity": Service(
        "dumpsys", ("dumpsys", "connectivity"), "the default network, not an icon",
        lambda text, asked: _active(text), lambda asked: asked.active,
    ),
    "location": Service(
        "location", ("cmd", "location", "is-location-enabled"),
        "the location manager's own state, not how a switch looks",
        lambda text, asked: parse_location(text), lambda asked: asked.enabled,
    ),
    "telephony": Service(
        "dumpsys", ("dumpsys", "telephony.registry"), "the radio's call state, not a call screen",
        lambda text, asked: parse_call(text), lambda asked: asked.call,
    ),
    "window": Service(
        "dumpsys", ("dumpsys", "window"), "the window manager's focus, not what is drawn",
        lambda text, asked: asked.focus in (parse_focus(text)[0] or ""), lambda asked: True,
    ),
}  # fmt: skip


def _active(dump: str) -> str:
    """The network's transports; a VPN counts as the transport that it uses."""
    transports = sorted(parse_default_network(dump) - {"vpn"})
    return "|".join(transports) or "none"


class ServiceOracle(Oracle[Any]):
    """The oracle for a question that one service answers."""

    @property
    def tentative(self) -> bool:
        """Off, idle and no network are also states in between, as when a network changes."""
        return self._service.wanted(self.asked) in (False, "none", "idle")

    @property
    def _service(self) -> Service:
        return SERVICES[self.question.kind]

    @property
    def notes(self) -> tuple[str, ...]:
        return (self._service.note,)

    def inquire(self) -> Inquiry:
        text = yield from output(self._service.type, *self._service.words)
        return {"found": self._service.found(text, self.asked)}

    def decide(self, facts: Json) -> Decision:
        found, wanted = facts["found"], self._service.wanted(self.asked)
        reason = f"{self.question.kind} is {_shown(found)}, {_shown(wanted)} wanted"
        return Decision(found == wanted, reason)


class AppopsOracle(Oracle[AppopsIs]):
    notes = ("the app-ops service's effective mode, not a settings page",)

    @property
    def depends_on(self) -> tuple[str, ...]:
        return (self.asked.app,)

    def inquire(self) -> Inquiry:
        words = ("cmd", "appops", "get", self.asked.app, self.asked.op)
        text = yield from output("appops_get", *words)
        return {"mode": parse_appop(text, self.asked.op)}

    def decide(self, facts: Json) -> Decision:
        reason = f"{self.asked.op} of {self.asked.app} is {facts['mode']}"
        return Decision(facts["mode"] == self.asked.mode, reason)


class BootOracle(Oracle[BootIs]):
    notes = ("the framework's own properties, and a service that must answer",)

    @property
    def tentative(self) -> bool:
        return self.asked.starts is not None

    def inquire(self) -> Inquiry:
        completed = yield from self._property("sys.boot_completed")
        animation = yield from self._property("init.svc.bootanim")
        # A missing package manager is what this question is about, so it is not a fault.
        packages = yield from shell("package_path", "pm", "path", "android")
        facts: dict[str, Json] = {
            "completed": completed == "1",
            "animation_over": animation == "stopped",
            "packages": packages.ok and packages.text.startswith("package:"),
        }
        if self.asked.starts is not None:
            starts = yield from self._property("sys.system_server.start_count")
            facts["starts"] = int(starts) if starts.isdecimal() else None
        return facts

    def _property(self, name: str) -> Any:
        text = yield from output("getprop", "getprop", name)
        return text.strip()

    def decide(self, facts: Json) -> Decision:
        missing = [name for name in ("completed", "animation_over", "packages") if not facts[name]]
        if self.asked.starts is not None and facts["starts"] != self.asked.starts:
            missing.append(f"{self.asked.starts} starts, but it had {facts['starts']}")
        reason = f"not met: {', '.join(missing)}" if missing else "the phone is up"
        return Decision(not missing, reason)


CAPABILITIES = {
    "clipboard": CLIPBOARD,
    "notification_listener": LISTENER,
    "network_proxy": PROXY,
}


class UnavailableOracle(Oracle[Any]):
    """Needs a capability that no phone has. The query is refused before it is sent
    (query_runner.py), with the capability's name; that is never a negative answer."""

    notes = ("not asked if the phone lacks the capability",)

    @property
    def needs(self) -> tuple[str, ...]:
        return (CAPABILITIES[self.question.kind],)

    def inquire(self) -> Inquiry:
        yield Query(self.needs[0], 0, path=self.question.kind)
        raise NoAnswer(self.decide(None).reason)

    def decide(self, facts: Json) -> Decision:
        return Decision(None, f"no oracle reads {self.needs[0]}")


def _shown(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
