"""Oracles on the system's state: boot, radios, calls, location, windows, app operations.

Each takes one dump or command, which the device room parses for the one value in question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..cases.oracles import AppopsIs, BootIs, SimpleQuestion
from ..device.foreground import parse_focus
from ..device.system_state import (
    parse_appop,
    parse_bluetooth,
    parse_call,
    parse_default_network,
    parse_location,
)
from ..events.canonical import Json
from .oracle import Decision, Inquiry
from .shell_query import NEEDS_SHELL, answer, command, result


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


@dataclass(frozen=True)
class ServiceOracle:
    """The oracle for a question that one service answers."""

    question: SimpleQuestion
    asked: Any
    needs: tuple[str, ...] = NEEDS_SHELL
    depends_on: tuple[str, ...] = ()

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
        text = yield from answer(command(self._service.type, *self._service.words))
        return {"found": self._service.found(text, self.asked)}

    def decide(self, facts: Json) -> Decision:
        found, wanted = facts["found"], self._service.wanted(self.asked)
        reason = f"{self.question.kind} is {_shown(found)}, {_shown(wanted)} wanted"
        return Decision(found == wanted, reason)


@dataclass(frozen=True)
class AppopsOracle:
    question: SimpleQuestion
    asked: AppopsIs
    notes: tuple[str, ...] = ("the app-ops service's effective mode, not a settings page",)
    needs: tuple[str, ...] = NEEDS_SHELL
    tentative: bool = False

    @property
    def depends_on(self) -> tuple[str, ...]:
        return (self.asked.app,)

    def inquire(self) -> Inquiry:
        words = ("cmd", "appops", "get", self.asked.app, self.asked.op)
        text = yield from answer(command("appops_get", *words))
        return {"mode": parse_appop(text, self.asked.op)}

    def decide(self, facts: Json) -> Decision:
        reason = f"{self.asked.op} of {self.asked.app} is {facts['mode']}"
        return Decision(facts["mode"] == self.asked.mode, reason)


@dataclass(frozen=True)
class BootOracle:
    question: SimpleQuestion
    asked: BootIs
    notes: tuple[str, ...] = ("the framework's own properties, and a service that must answer",)
    needs: tuple[str, ...] = NEEDS_SHELL
    depends_on: tuple[str, ...] = ()

    @property
    def tentative(self) -> bool:
        return self.asked.starts is not None

    def inquire(self) -> Inquiry:
        completed = yield from self._property("sys.boot_completed")
        animation = yield from self._property("init.svc.bootanim")
        query = command("package_path", "pm", "path", "android")
        # A missing package manager is what this question is about, so it is not a fault.
        packages = result(query, (yield query))
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
        text = yield from answer(command("getprop", "getprop", name))
        return text.strip()

    def decide(self, facts: Json) -> Decision:
        missing = [name for name in ("completed", "animation_over", "packages") if not facts[name]]
        if self.asked.starts is not None and facts["starts"] != self.asked.starts:
            missing.append(f"{self.asked.starts} starts, but it had {facts['starts']}")
        return Decision(
            not missing, f"not met: {', '.join(missing)}" if missing else "the phone is up"
        )


def _shown(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
