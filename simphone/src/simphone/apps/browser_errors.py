"""What the browser says when there is no page."""

from __future__ import annotations

from ..ui import theme
from ..ui.node import WIDTH, Action, Icon, Node, Rect, dp
from ..ui.widgets import Button, Piece, bar, box, column, space, text
from ..web.address import BadAddress, parse

UNREACHABLE = "This site can’t be reached"
NOT_WORKING = "This page isn’t working"
HEADINGS = {
    "ERR_INTERNET_DISCONNECTED": "No internet",
    "ERR_CERT_AUTHORITY_INVALID": "Your connection is not private",
    "ERR_NETWORK_CHANGED": "Your connection was interrupted",
    "ERR_EMPTY_RESPONSE": NOT_WORKING,
    "ERR_TOO_MANY_REDIRECTS": NOT_WORKING,
    "ERR_INVALID_REDIRECT": NOT_WORKING,
}
# {host} is whom the address names.
REASONS = {
    "ERR_NAME_NOT_RESOLVED": "{host}’s server IP address could not be found.",
    "ERR_CONNECTION_REFUSED": "{host} refused to connect.",
    "ERR_CONNECTION_CLOSED": "{host} unexpectedly closed the connection.",
    "ERR_CONNECTION_RESET": "The connection was reset.",
    "ERR_ADDRESS_UNREACHABLE": "{host} is unreachable.",
    "ERR_TIMED_OUT": "{host} took too long to respond.",
    "ERR_EMPTY_RESPONSE": "{host} didn’t send any data.",
    "ERR_TOO_MANY_REDIRECTS": "{host} redirected you too many times.",
    "ERR_INTERNET_DISCONNECTED": "Try turning off airplane mode, or checking your mobile data or "
    "Wi-Fi.",
    "ERR_CERT_AUTHORITY_INVALID": "Attackers might be trying to steal your information from {host} "
    "(for example, passwords, messages, or credit cards).",
    "ERR_NETWORK_CHANGED": "A network change was detected.",
    "ERR_FILE_TOO_BIG": "{host} sent more than this browser can hold.",
}
OTHERWISE = "The web page at {host} might be temporarily down."


def error_page(url: str, code: str, reload: Action, view: Rect) -> Node:
    try:
        host = parse(url).host
    except BadAddress:
        host = url[:60]
    reason = REASONS.get(code, OTHERWISE).format_map({"host": host})
    shown = f"NET::{code}" if code.startswith("ERR_CERT") else code
    mark = "lock" if code.startswith("ERR_CERT") else "alert_circle_outline"
    pieces: list[Piece] = [
        space(dp(72)),
        lambda x, y, room: box(
            Rect(x + theme.MARGIN, y, x + theme.MARGIN + dp(56), y + dp(64)),
            Icon(mark, dp(52), theme.OUTLINE),
        ),
        text(HEADINGS.get(code, UNREACHABLE), size=dp(22), weight="Medium", gap=dp(10)),
        text(reason, colour=theme.TEXT_SOFT),
        text(shown, size=theme.TINY, colour=theme.TEXT_SOFT, gap=dp(10)),
        bar(Button("Reload", reload, "reload_button"), align="left"),
    ]
    return Node(view, "android.webkit.WebView", HEADINGS.get(code, UNREACHABLE),
                children=column(pieces, 0, view.top, WIDTH))  # fmt: skip
