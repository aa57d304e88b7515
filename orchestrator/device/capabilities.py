"""The capabilities that oracles may need, and which of them a phone has."""

from __future__ import annotations

from .shell import Shell

SHELL = "adb_shell"
ROOT = "root"
CLIPBOARD = "clipboard_receipt"
LISTENER = "notification_listener_receipt"
PROXY = "network_proxy"
# Each needs a part that we install on no phone: a reporting app, or a proxy in between.
UNAVAILABLE = frozenset({CLIPBOARD, LISTENER, PROXY})


def capabilities(shell: Shell) -> frozenset[str]:
    """Play Store images have no `su`, so queries that need root cannot be answered there."""
    root = shell.query("id", "-u", root=True).text.strip() == "0"
    return frozenset({SHELL, ROOT} if root else {SHELL})
