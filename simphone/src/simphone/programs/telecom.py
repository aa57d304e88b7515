"""`telecom`: who answers calls."""

from __future__ import annotations

from ..services.telephony import DIALER
from .call import Call, Program
from .framework import NO_SERVICE, needs_service

ANSWERS = {
    "get-default-dialer": DIALER,
    "get-system-dialer": DIALER,
    "get-sim-config": "SSSS",
    "get-max-phones": "1",
}
USAGE = "usage: telecom [subcommand] [options]\n" + "".join(
    f"usage: telecom {name}\n" for name in ANSWERS
)


async def telecom(call: Call) -> int:
    if not await needs_service(call, "telecom"):
        return NO_SERVICE
    if not call.args:
        await call.out(USAGE)
        return 0
    answer = ANSWERS.get(call.args[0])
    if answer is None:
        return await call.fail(f"Error: unknown command '{call.args[0]}'\n{USAGE.rstrip()}", 255)
    await call.out(f"{answer}\n")
    return 0


PROGRAMS: dict[str, Program] = {"telecom": telecom}
