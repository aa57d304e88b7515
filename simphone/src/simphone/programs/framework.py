"""What programs that talk to a system service say while there is none."""

from __future__ import annotations

from ..system import has_service
from .call import Call

NO_SERVICE = 20


async def needs_service(call: Call, name: str) -> bool:
    """Whether the service answers; where not, `cmd`'s complaint is printed, to exit with 20."""
    if has_service(call.world, name):
        return True
    await call.err(f"cmd: Can't find service: {name}\n")
    return False
