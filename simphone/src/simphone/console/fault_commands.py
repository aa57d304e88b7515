"""The console's `sim-fault`: a tester arms faults at a moment of its choice."""

from __future__ import annotations

from ..faults.order import BEFORE_CONSOLE, BadOrder
from ..faults.table import classes, listing, ordered
from .session import Command, Refused, Session


async def _arm(session: Session, args: str) -> str:
    try:
        order = ordered(args.split())
    except BadOrder as error:
        raise Refused(str(error)) from error
    if order.point in BEFORE_CONSOLE:
        name = order.fault.name
        raise Refused(f"{name} happens before there is a console, start with -sim-fault {name}")
    session.phone.arm(order)
    return ""


async def _list(session: Session, args: str) -> str:
    return listing(session.phone.world.faults.armed())


async def _classes(session: Session, args: str) -> str:
    return classes()


async def _clear(session: Session, args: str) -> str:
    session.phone.world.faults.clear()
    return ""


SIM_FAULT = Command(
    "sim-fault", "arm faults of the simulated phone",
    description="allows you to let the simulated phone fail as real emulators do\r\n",
    steady=True,
    commands=(
        Command("arm", "arm a fault: CLASS [at=POINT] [after=N] [times=M|always]", _arm),
        Command("list", "list what was armed, and what has happened", _list),
        Command("classes", "list every class with its points", _classes),
        Command("clear", "disarm all", _clear),
    ),
)  # fmt: skip
