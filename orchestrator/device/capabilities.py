"""What can this phone be asked beyond what every phone answers?"""

from __future__ import annotations

from .shell import Shell

SHELL = "adb_shell"
ROOT = "root"
CLIPBOARD = "clipboard_receipt"
LISTENER = "notification_listener_receipt"
PROXY = "network_proxy"
# Each needs a part that we install on no phone: an app that tells, a proxy in between.
BEYOND = frozenset({CLIPBOARD, LISTENER, PROXY})


def capabilities(shell: Shell) -> frozenset[str]:
    """Images of the Play Store have no `su`: there every question to root is without an answer."""
    root = shell.query("id", "-u", root=True).text.strip() == "0"
    return frozenset({SHELL, ROOT} if root else {SHELL})
