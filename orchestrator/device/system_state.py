"""Parsers for the state of radios, calls, location and app operations in the services' dumps.

Each parser reads one value. A dump without that value is a fault and not an answer.
"""

from __future__ import annotations

import re

from .faults import DeviceFault

CALL_STATES = ("idle", "ringing", "offhook")
_BLUETOOTH = re.compile(r"^\s*state: (\w+)\s*$", re.MULTILINE)
_DEFAULT_NETWORK = re.compile(r"^Active default network: (\d+|none)\s*$", re.MULTILINE)
_NETWORK = re.compile(r"^\s*NetworkAgentInfo\{\s*network\{(\d+)\}(.*)$", re.MULTILINE)
_TRANSPORTS = re.compile(r"Transports: ([A-Z_|]+)")
_CALL = re.compile(r"^\s*mCallState=(\d{1,3})\s*$", re.MULTILINE)
_DEFAULT_MODE = re.compile(r"^Default mode: (\w+)\s*$", re.MULTILINE)


def parse_bluetooth(dump: str) -> bool:
    """From `dumpsys bluetooth_manager`; an adapter that is still turning on is not on."""
    return _found(_BLUETOOTH, dump, "dumpsys bluetooth_manager")[1] == "ON"


def parse_default_network(dump: str) -> frozenset[str]:
    """From `dumpsys connectivity`: the transports of the default network, if there is one."""
    number = _found(_DEFAULT_NETWORK, dump, "dumpsys connectivity")[1]
    if number == "none":
        return frozenset()
    for network in _NETWORK.finditer(dump):
        transports = _TRANSPORTS.search(network[2])
        if network[1] == number and transports is not None:
            return frozenset(transports[1].lower().split("|"))
    text = f"no network {number} in the dump"
    raise DeviceFault("bad_answer", text, during="dumpsys connectivity")


def parse_location(text: str) -> bool:
    """From `cmd location is-location-enabled`."""
    value = text.strip()
    if value not in ("true", "false"):
        text = f"neither true nor false: {value[:200]!r}"
        raise DeviceFault("bad_answer", text, during="location")
    return value == "true"


def parse_call(dump: str) -> str:
    """From `dumpsys telephony.registry`; of several lines the highest state counts."""
    command = "dumpsys telephony.registry"
    _found(_CALL, dump, command)
    busiest = max(int(match[1]) for match in _CALL.finditer(dump))
    if busiest >= len(CALL_STATES):
        raise DeviceFault("bad_answer", f"unknown call state {busiest}", during=command)
    return CALL_STATES[busiest]


def parse_appop(text: str, op: str) -> str:
    """From `cmd appops get PACKAGE OP`. The mode of the whole user id takes precedence over the
    package's; without either it is the operation's default."""
    modes = re.findall(rf"^(?:Uid mode: )?{re.escape(op)}: (\w+)", text, re.MULTILINE)
    modes = [mode for mode in modes if mode != "default"] or modes
    default = _DEFAULT_MODE.search(text)
    if modes:
        return str(modes[0])  # that of the user id is printed first
    if default is None:
        raise DeviceFault("bad_answer", f"no {op} in {text[:200]!r}", during="cmd appops get")
    return default[1]


def _found(pattern: re.Pattern[str], dump: str, during: str) -> re.Match[str]:
    found = pattern.search(dump)
    if found is None:
        raise DeviceFault("bad_answer", f"no {pattern.pattern} in the dump", during=during)
    return found
