"""Android's system properties and settings: reads and writes them."""

from __future__ import annotations

from .faults import DeviceFault
from .shell import Shell

NAMESPACES = ("system", "secure", "global")


class Properties:
    """System properties; an unset one is the empty string, as with getprop."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def get(self, name: str) -> str:
        return self._shell.answer("getprop", name).rstrip("\r\n")

    def set(self, name: str, value: str) -> None:
        """Sets the property and reads it back, because setprop may fail silently."""
        self._shell.do("setprop", name, value)
        if self.get(name) != value:
            text = f"{name} is {self.get(name)!r} after setprop to {value!r}"
            raise DeviceFault("command_failed", text, during=f"setprop {name}")


class AndroidSettings:
    """The settings provider's three tables. A missing key is None."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def get(self, namespace: str, key: str) -> str | None:
        """None also if the stored text is `null`: the shell prints both the same way."""
        text = self._shell.answer("settings", "get", _known(namespace), key)
        value = text.removesuffix("\n").removesuffix("\r")
        return None if value == "null" else value

    def put(self, namespace: str, key: str, value: str) -> None:
        self._shell.do("settings", "put", _known(namespace), key, value)

    def delete(self, namespace: str, key: str) -> None:
        self._shell.do("settings", "delete", _known(namespace), key)


def _known(namespace: str) -> str:
    if namespace not in NAMESPACES:
        raise ValueError(f"there is no settings table {namespace!r}")
    return namespace
