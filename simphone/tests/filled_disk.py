"""A phone whose disk is filled by its guest: what it answers, as JSON. Run on a small disk."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from simphone.phone import Phone
from simphone.shell.interpreter import run_script
from simphone.streams import Collected, Fixed
from tests.booted import ask, booted, is_up, until

FILL = "dd if=/dev/zero of=/data/local/tmp/f bs=4096"


async def sh(phone: Phone, script: str) -> list[object]:
    out = Collected()
    code = await run_script(phone.world, script, stdin=Fixed(), stdout=out, stderr=out)
    return [code, out.data.decode()]


async def main(folder: Path) -> dict[str, object]:
    async with booted(folder) as phone:
        await ask(phone, "avd snapshot save early")
        seen: dict[str, object] = {"dd": await sh(phone, FILL)}
        seen["echo"] = await sh(phone, "echo x > /data/local/tmp/g")
        seen["settings put"] = await sh(phone, "settings put global x " + "y" * 9000)
        seen["settings get"] = await sh(phone, "settings get global adb_enabled")
        seen["save"] = (await ask(phone, "avd snapshot save late")).strip()
        seen["load"] = (await ask(phone, "avd snapshot load early")).splitlines()[1]
        before = phone.world.boot_id
        phone.reboot()
        await until(lambda: phone.world.boot_id != before and is_up(phone))
        seen["rebooted"] = not phone.exited.done()
        again = "rm /data/local/tmp/*; settings put global x again; settings get global x"
        seen["after"] = await sh(phone, again)
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1])))))
