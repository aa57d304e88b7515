"""`pm list`: packages, permissions, features, libraries, users."""

from __future__ import annotations

from ..services.packages import Package
from .call import Call
from .permissions import KNOWN, RUNTIME
from .service_command import FAILURE, Arguments, Verb, nothing

FEATURES = (
    "reqGlEsVersion=0x30002", "android.hardware.audio.output", "android.hardware.bluetooth",
    "android.hardware.camera", "android.hardware.faketouch", "android.hardware.location",
    "android.hardware.microphone", "android.hardware.screen.portrait",
    "android.hardware.telephony", "android.hardware.touchscreen",
    "android.hardware.touchscreen.multitouch", "android.hardware.wifi",
    "android.software.input_methods", "android.software.webview",
)  # fmt: skip
LIBRARIES = ("android.ext.shared", "android.test.base", "android.test.mock", "android.test.runner",
             "javax.obex", "org.apache.http.legacy")  # fmt: skip


def line(package: Package, options: set[str]) -> str:
    text = (
        f"package:{package.path}={package.name}" if "-f" in options else f"package:{package.name}"
    )
    if "--show-versioncode" in options:
        text += f" versionCode:{package.version_code}"
    if "-i" in options:
        text += f"  installer={package.installer or 'null'}"
    if "-U" in options:
        text += f" uid:{package.uid}"
    return text + "\n"


def wanted(package: Package, options: set[str]) -> bool:
    return not (
        ("-3" in options and package.system)
        or ("-s" in options and not package.system)
        or ("-d" in options and package.enabled)
        or ("-e" in options and not package.enabled)
    )


async def packages(call: Call, arguments: Arguments) -> int:
    options: set[str] = set()
    uid = ""
    while (word := arguments.option()) is not None:
        if word == "--user":
            arguments.required()
        elif word == "--uid":
            uid = arguments.required()
        elif word in ("-3", "-s", "-d", "-e", "-f", "-i", "-U", "-u", "-a", "-l", "-c",
                      "--show-versioncode", "--apex-only", "--factory-only"):  # fmt: skip
            options.add(word)
        else:
            return await call.fail(f"Error: Unknown option: {word}", FAILURE)
    text = arguments.next() or ""
    if "--apex-only" in options:
        return 0
    for package in call.world.packages.all():
        matches = text in package.name and uid in ("", str(package.uid))
        if matches and wanted(package, options):
            await call.out(line(package, options))
    return 0


async def permissions(call: Call, arguments: Arguments) -> int:
    dangerous = False
    while (word := arguments.option()) is not None:
        dangerous = dangerous or "d" in word
    await call.out("All Permissions:\n\n")
    for name in sorted(RUNTIME if dangerous else KNOWN):
        await call.out(f"permission:{name}\n")
    return 0


async def features(call: Call, arguments: Arguments) -> int:
    await call.out("".join(f"feature:{name}\n" for name in FEATURES))
    return 0


async def libraries(call: Call, arguments: Arguments) -> int:
    await call.out("".join(f"library:{name}\n" for name in LIBRARIES))
    return 0


async def users(call: Call, arguments: Arguments) -> int:
    await call.out("Users:\n\tUserInfo{0:Owner:4c13} running\n")
    return 0


LISTS: dict[str, Verb] = {
    "packages": packages,
    "package": packages,
    "permissions": permissions,
    "features": features,
    "libraries": libraries,
    "users": users,
    "instrumentation": nothing,
    "permission-groups": nothing,
}
