"""pm and cmd package: listing, installing real APKs, permissions, states."""

from __future__ import annotations

import io
import zipfile

import pytest

from simphone import system
from simphone.ui.screen import Intent
from tests.apks import apk, compiled, zipped
from tests.programs.terminal import Terminal

PUSHED = "/data/local/tmp/app.apk"


def push(terminal: Terminal, data: bytes) -> None:
    terminal.world.disk.own(PUSHED).write_bytes(data)


async def test_packages_are_listed_one_a_line(terminal: Terminal) -> None:
    lines = (await terminal.out("pm list packages")).splitlines()
    assert "package:com.android.settings" in lines
    assert lines == (await terminal.out("cmd package list packages")).splitlines()
    assert await terminal.out("pm list packages -3") == ""
    assert (
        await terminal.out("pm list packages com.android.sett") == "package:com.android.settings\n"
    )


async def test_options_add_path_and_uid(terminal: Terminal) -> None:
    found = terminal.world.packages.get("com.android.settings")
    assert found is not None
    line = await terminal.out("pm list packages -f -U com.android.settings")
    assert line == f"package:{found.path}=com.android.settings uid:{found.uid}\n"


async def test_the_path_of_an_unknown_package_is_silence_and_exit_1(terminal: Terminal) -> None:
    assert await terminal.out("pm path android") == "package:/system/framework/framework-res.apk\n"
    ran = await terminal.run("pm path com.nope")
    assert (ran.code, ran.data, ran.err) == (1, b"", "")


@pytest.mark.parametrize("utf8", [True, False])
async def test_a_pushed_apk_is_installed(terminal: Terminal, utf8: bool) -> None:
    push(terminal, apk(utf8=utf8))
    assert await terminal.out(f"pm install -r -t {PUSHED}") == "Success\n"
    installed = terminal.world.packages.get("com.example.app")
    assert installed is not None
    assert (installed.version_code, installed.version_name, installed.min_sdk) == (7, "1.2", 24)
    assert installed.permissions == ("android.permission.INTERNET", "android.permission.CAMERA")
    assert not installed.system
    path = (await terminal.out("pm path com.example.app")).strip().removeprefix("package:")
    assert path.startswith("/data/app/~~")
    assert path.endswith("==/base.apk")
    assert terminal.world.disk.read(path, 0) == apk(utf8=utf8)
    assert await terminal.out("pm list packages -3") == "package:com.example.app\n"
    dumped = await terminal.out("dumpsys package com.example.app")
    assert "    versionCode=7 minSdk=24 targetSdk=34\n    versionName=1.2\n" in dumped


async def test_an_apk_is_installed_from_exactly_so_many_bytes_of_stdin(terminal: Terminal) -> None:
    data = apk(padding=300_000)
    ran = await terminal.run(f"cmd package install -S {len(data)}", stdin=data + b"more")
    assert (ran.code, ran.out, ran.err) == (0, "Success\n", "")
    assert terminal.world.packages.get("com.example.app") is not None


async def test_a_stream_that_is_no_apk_fails_and_leaves_nothing(terminal: Terminal) -> None:
    broken = (
        b"not a zip",
        zipped({"classes.dex": b"x"}),
        zipped({"AndroidManifest.xml": b"<manifest/>"}),
        zipped({"AndroidManifest.xml": compiled([("application", {})])}),
        zipped({"AndroidManifest.xml": compiled([("manifest", {"package": "a.b"})])[:-9]}),
    )
    for data in broken:
        ran = await terminal.run(f"cmd package install -S {len(data)}", stdin=data)
        assert ran.code == 1, data
        assert ran.out.startswith("Failure [INSTALL_PARSE_FAILED_NOT_APK: Failed to parse "), data
        assert ran.out.endswith("]\n")
    short = await terminal.run("cmd package install -S 100", stdin=b"x")
    assert (short.code, short.out[:9]) == (1, "Failure [")
    assert terminal.world.disk.names("/data/app", 0) == []


async def test_a_pushed_file_that_is_no_apk_is_named(terminal: Terminal) -> None:
    push(terminal, b"x")
    ran = await terminal.run(f"pm install {PUSHED}")
    assert ran.code == 255
    assert f"Error: Failed to parse APK file: {PUSHED}\n" in ran.err
    gone = await terminal.run("pm install /data/local/tmp/none.apk")
    assert gone.code == 255
    assert "Error: Unable to open file: /data/local/tmp/none.apk\n" in gone.err


async def test_refusals_carry_the_package_managers_codes(terminal: Terminal) -> None:
    push(terminal, apk(code=9))
    await terminal.out(f"pm install {PUSHED}")
    for data, code in (
        (apk(code=8), ("INSTALL_FAILED_VERSION_DOWNGRADE: Downgrade detected: "
                      "Update version code 8 is older than current 9")),
        (apk("com.new", min_sdk=35), "INSTALL_FAILED_OLDER_SDK"),
        (apk("com.android.settings"), "INSTALL_FAILED_UPDATE_INCOMPATIBLE"),
    ):  # fmt: skip
        ran = await terminal.run(f"pm install -S {len(data)}", stdin=data)
        assert ran.code == 1
        assert ran.out.startswith(f"Failure [{code}")
    push(terminal, apk(code=8))
    assert await terminal.out(f"pm install -d {PUSHED}") == "Success\n"


async def test_an_update_keeps_uid_and_grants_and_removes_the_old_code(terminal: Terminal) -> None:
    push(terminal, apk(code=1))
    await terminal.out(f"pm install -g {PUSHED}")
    before = terminal.world.packages.get("com.example.app")
    terminal.world.clock.offset_s += 60
    push(terminal, apk(code=2))
    await terminal.out(f"pm install {PUSHED}")
    after = terminal.world.packages.get("com.example.app")
    assert before is not None
    assert after is not None
    assert after.uid == before.uid
    assert after.granted == before.granted == ("android.permission.CAMERA",)
    assert not terminal.world.disk.exists(before.path, 0)
    assert terminal.world.disk.exists(after.path, 0)


async def test_a_session_takes_several_apks(terminal: Terminal) -> None:
    created = await terminal.out("pm install-create -g")
    session = created.removeprefix("Success: created install session [").removesuffix("]\n")
    base, split = apk(), apk(split="config.en")
    for name, data in (("base.apk", base), ("split.apk", split)):
        ran = await terminal.run(f"pm install-write -S {len(data)} {session} {name} -", stdin=data)
        assert ran.out == f"Success: streamed {len(data)} bytes\n"
    assert await terminal.out(f"pm install-commit {session}") == "Success\n"
    installed = terminal.world.packages.get("com.example.app")
    assert installed is not None
    assert installed.granted == ("android.permission.CAMERA",)
    folder = installed.path.rpartition("/")[0]
    assert terminal.world.disk.names(folder, 0) == ["base.apk", "split_config.en.apk"]
    assert (await terminal.run(f"pm install-commit {session}")).code == 255


async def test_uninstalling_removes_code_and_data(terminal: Terminal) -> None:
    push(terminal, apk())
    await terminal.out(f"pm install {PUSHED}")
    assert await terminal.out("pm uninstall com.example.app") == "Success\n"
    assert terminal.world.packages.get("com.example.app") is None
    assert terminal.world.disk.names("/data/app", 0) == []
    assert not terminal.world.disk.exists("/data/data/com.example.app", 0)
    for name in ("com.example.app", "com.android.settings"):
        ran = await terminal.run(f"pm uninstall {name}")
        assert (ran.code, ran.out) == (1, "Failure [DELETE_FAILED_INTERNAL_ERROR]\n")


async def test_permissions_are_granted_and_revoked(terminal: Terminal) -> None:
    push(terminal, apk())
    await terminal.out(f"pm install {PUSHED}")
    camera = "android.permission.CAMERA"
    assert await terminal.out(f"pm grant com.example.app {camera}") == ""
    assert f"{camera}: granted=true" in await terminal.out("dumpsys package com.example.app")
    assert await terminal.out(f"pm revoke com.example.app {camera}") == ""
    assert f"{camera}: granted=false" in await terminal.out("dumpsys package com.example.app")


@pytest.mark.parametrize(
    ("line", "thrown"),
    [
        ("com.nope android.permission.CAMERA",
         "java.lang.IllegalArgumentException: Unknown package: com.nope"),
        ("com.android.settings no.such",
         "java.lang.IllegalArgumentException: Unknown permission: no.such"),
        ("com.android.systemui android.permission.READ_SMS",
         ("java.lang.SecurityException: Package com.android.systemui has not requested permission "
         "android.permission.READ_SMS")),
    ],
)  # fmt: skip
async def test_a_refused_grant_throws(terminal: Terminal, line: str, thrown: str) -> None:
    ran = await terminal.run(f"pm grant {line}")
    assert ran.code == 255
    assert ran.err.startswith(f"\nException occurred while executing 'grant':\n{thrown}\n\tat ")


async def test_clear_forgets_what_the_app_kept(terminal: Terminal) -> None:
    kept = terminal.world.disk.own("/data/data/com.android.settings/files/x")
    kept.write_bytes(b"x")
    assert await terminal.out("pm clear com.android.settings") == "Success\n"
    assert not kept.exists()
    ran = await terminal.run("pm clear com.nope")
    assert (ran.code, ran.out) == (1, "Failed\n")


async def test_a_disabled_package_cannot_be_started(terminal: Terminal) -> None:
    name = "com.android.settings"
    assert (
        await terminal.out(f"pm disable-user {name}")
        == f"Package {name} new state: disabled-user\n"
    )
    assert await terminal.out("pm list packages -d") == f"package:{name}\n"
    ran = await terminal.run(f"am start -n {name}/.Settings")
    assert "does not exist" in ran.err
    assert await terminal.out(f"pm enable {name}") == f"Package {name} new state: enabled\n"
    assert await terminal.out("pm list packages -d") == ""


async def test_an_activity_is_resolved_in_brief(terminal: Terminal) -> None:
    out = await terminal.out("cmd package resolve-activity --brief com.android.settings")
    assert out.splitlines()[-1] == "com.android.settings/.Settings"
    assert await terminal.out("pm resolve-activity --brief -a no.such") == "No activity found\n"


async def test_unknown_commands_and_lists_are_refused(terminal: Terminal) -> None:
    ran = await terminal.run("pm frobnicate")
    assert (ran.code, ran.out) == (255, "Unknown command: frobnicate\n")
    assert (await terminal.run("pm list frobs")).err == "Error: unknown list type 'frobs'\n"
    assert (await terminal.run("pm install --frob x")).code == 255
    assert (await terminal.run("pm install -S many")).code == 255


async def test_without_a_framework_there_is_no_package_service(terminal: Terminal) -> None:
    system.stop_framework(terminal.world)
    for line in ("pm path android", "cmd package path android"):
        ran = await terminal.run(line)
        assert (ran.code, ran.err) == (20, "cmd: Can't find service: package\n")


async def test_an_encrypted_zip_is_refused(terminal: Terminal) -> None:
    """The flag alone: no reader without a password may fall over it."""
    data = bytearray(apk())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        at = archive.getinfo("AndroidManifest.xml").header_offset
    data[at + 6] |= 1
    central = data.rindex(b"PK\x01\x02", 0, data.rindex(b"PK\x01\x02"))
    data[central + 8] |= 1
    ran = await terminal.run(f"pm install -S {len(data)}", stdin=bytes(data))
    assert (ran.code, ran.out[:9]) == (1, "Failure [")


async def test_a_disabled_app_has_no_icon_and_answers_to_nobody(terminal: Terminal) -> None:
    windows = terminal.world.windows
    await terminal.out("pm disable-user com.android.dialer")
    assert windows.launch(Intent(package="com.android.dialer")) is None
    assert "Phone" not in [node.text for node in windows.layers()[0].root.walk()]
    await terminal.out("pm enable com.android.dialer")
    assert "Phone" in [node.text for node in windows.layers()[0].root.walk()]


async def test_who_would_answer_a_call_is_not_called(terminal: Terminal) -> None:
    line = "pm resolve-activity --brief -a android.intent.action.CALL -d tel:5550123"
    assert "InCallActivity" in await terminal.out(line)
    assert terminal.world.telephony.call is None
