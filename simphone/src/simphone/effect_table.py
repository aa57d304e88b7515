"""Every effect that may become due later, and who brings it to pass."""

from __future__ import annotations

from . import boot, system
from .effects import Handler
from .providers import media
from .services import telephony

HANDLERS: dict[str, Handler] = {
    **boot.EFFECTS,
    **system.EFFECTS,
    **telephony.EFFECTS,
    **media.EFFECTS,
}
