"""Colours and sizes of the phone's look: a light Material palette."""

from __future__ import annotations

from .node import HEIGHT, dp

BACKGROUND = "#FAF9FD"
SURFACE = "#FFFFFF"
CONTAINER = "#EDEDF4"
CONTAINER_HIGH = "#E3E2E9"
PRIMARY = "#3B5BA9"
ON_PRIMARY = "#FFFFFF"
PRIMARY_SOFT = "#D9E2FF"
ON_PRIMARY_SOFT = "#0E2A66"
TEXT = "#1A1B20"
TEXT_SOFT = "#5A5D66"
HINT = "#8A8D96"
LINE = "#DADBE2"
OUTLINE = "#9A9DA6"
DANGER = "#B3261E"
SCRIM = "#101116"  # behind a dialog
LINK = "#1A56C4"

STATUS_BAR = dp(30)
NAV_BAR = dp(48)
KEYBOARD = dp(268)
APP_BAR = dp(64)
MARGIN = dp(16)
ROW = dp(56)
CONTENT_BOTTOM = HEIGHT - NAV_BAR

BODY = dp(16)
SMALL = dp(14)
TINY = dp(12)
TITLE = dp(22)
