"""`service`: what servicemanager knows."""

from __future__ import annotations

from ..system import has_service, services
from .call import Call, Program

USAGE = """Usage: service [-h|-?]
       service list
       service check SERVICE
       service call SERVICE CODE [i32 N | i64 N | f N | d N | s16 STR | null | fd f | nfd n | \
afd f ]...
Options:
   i32: Write the 32-bit integer N into the send parcel.
   s16: Write the UTF-16 string STR into the send parcel.
"""


async def service(call: Call) -> int:
    known = dict(services(call.world))
    match call.args:
        case ["list"]:
            rows = "".join(
                f"{n}\t{name}: [{kind}]\n" for n, (name, kind) in enumerate(known.items())
            )
            await call.out(f"Found {len(known)} services:\n{rows}")
            return 0
        case ["check", name, *_]:
            found = "found" if has_service(call.world, name) else "not found"
            await call.out(f"Service {name}: {found}\n")
            return 0
        case ["check"]:
            return await usage(call, "service: No service specified for check\n")
        case ["call", name, code, *_]:
            return await transact(call, name, code)
        case ["call", _]:
            return await usage(call, "service: No code specified for call\n")
        case ["call"]:
            return await usage(call, "service: No service specified for call\n")
        case ["-h" | "-?", *_]:
            return await usage(call, "", 0)
        case [other, *_]:
            return await usage(call, f"service: Unknown command {other}\n")
    return await usage(call, "service: No command specified\n")


async def usage(call: Call, complaint: str, code: int = 10) -> int:
    await call.err(complaint)
    await call.out(USAGE)
    return code


async def transact(call: Call, name: str, code: str) -> int:
    """The empty answer of a method that returns nothing; no caller may build on more."""
    if not has_service(call.world, name):
        await call.err(f"service: Service {name} does not exist\n")
        return 10
    if not (code.isascii() and code.isdigit()):
        return await usage(call, "service: bad code\n")
    await call.out("Result: Parcel(00000000    '....')\n")
    return 0


PROGRAMS: dict[str, Program] = {"service": service}
