"""A phone boots in a real phone's order, and again when it is told to."""

from __future__ import annotations

from pathlib import Path

from simphone.boot import boot_id
from simphone.phone import Phone
from simphone.snapshots import TAG
from simphone.system import framework_up, restart_framework, services
from tests.booted import booted, is_up, new_phone, until


def seen(phone: Phone) -> tuple[str, ...]:
    """Which of a boot's marks are there now."""
    world = phone.world
    return tuple(
        mark
        for mark, there in (
            ("adbd", world.processes.find("adbd") is not None),
            ("zygote", world.processes.find("zygote64") is not None),
            ("services", framework_up(world)),
            ("home", bool(world.windows.focus_name())),
            ("completed", world.properties.get("sys.boot_completed") == "1"),
            ("still", world.properties.get("init.svc.bootanim") == "stopped"),
        )
        if there
    )


async def test_the_marks_of_a_boot_appear_one_after_the_other(tmp_path: Path) -> None:
    phone = new_phone(tmp_path)
    phone.power_on()
    order = [seen(phone)]

    def watch() -> bool:
        if seen(phone) != order[-1]:
            order.append(seen(phone))
        return is_up(phone)

    await until(watch)
    marks = ("adbd", "zygote", "services", "home", "completed", "still")
    assert order == [marks[:count] for count in range(1, 7)]
    await phone.stop()


async def test_before_the_framework_only_native_services_answer(tmp_path: Path) -> None:
    phone = new_phone(tmp_path)
    phone.power_on()
    assert "package" not in dict(services(phone.world))
    assert "SurfaceFlinger" in dict(services(phone.world))
    await until(lambda: is_up(phone))
    assert {"package", "activity", "window", "input"} <= dict(services(phone.world)).keys()
    await phone.stop()


async def test_a_booted_phone_is_an_android_14_emulator(tmp_path: Path) -> None:
    async with booted(tmp_path, "-prop", "qemu.sf.lcd_density=420") as phone:
        properties = phone.world.properties
        assert properties.get("ro.build.version.sdk") == "34"
        assert properties.get("ro.build.fingerprint").startswith("google/sdk_gphone64_x86_64/")
        assert properties.get("ro.boot.qemu.avd_name") == "x"
        assert properties.get("qemu.sf.lcd_density") == "420"
        assert properties.get("persist.sys.timezone") == "Etc/UTC"
        assert properties.get("sys.system_server.start_count") == "1"
        assert phone.world.settings.get("global", "device_provisioned") == "1"
        assert phone.world.packages.get("android") is not None
        assert phone.world.disk.read("/proc/sys/kernel/random/boot_id", 2000).decode() == (
            phone.world.boot_id + "\n"
        )
        assert (phone.world.disk.own("/sdcard/Download")).is_dir()


async def test_a_reboot_gives_a_new_boot_id_and_keeps_the_disk(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        world = phone.world
        before = world.boot_id
        world.disk.own("/sdcard/Download/kept").write_text("kept")
        world.settings.put("global", "mine", "kept")
        world.properties.set("debug.mine", "lost")
        world.properties.set("persist.mine", "kept")
        world.clipboard.text = "lost"
        phone.reboot()
        await until(lambda: world.boot_id != before and is_up(phone))
        assert world.disk.own("/sdcard/Download/kept").read_text() == "kept"
        assert world.settings.get("global", "mine") == "kept"
        assert world.properties.get("debug.mine") == ""
        assert world.properties.get("persist.mine") == "kept"
        assert world.clipboard.text == ""


def test_boot_ids_follow_from_seed_and_count() -> None:
    assert boot_id(1, None, 1) == boot_id(1, None, 1)
    assert len({boot_id(s, n, c) for s in (1, 2) for n in (None, 1) for c in (1, 2)}) == 8
    assert TAG.fullmatch(boot_id(1, None, 1))
    assert boot_id(1, None, 1)[14] == "4"


async def test_when_system_server_dies_a_new_one_comes_back(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        world = phone.world
        old = world.processes.find("system_server")
        restart_framework(world)
        assert not framework_up(world)
        assert world.properties.get("sys.boot_completed") == "1"
        await until(lambda: framework_up(world))
        new = world.processes.find("system_server")
        assert old is not None
        assert new is not None
        assert old.pid != new.pid
        assert world.properties.get("sys.system_server.start_count") == "2"
        assert world.windows.focus_name().startswith("com.android.launcher3/")


async def test_a_disk_that_was_never_finished_is_made_again(tmp_path: Path) -> None:
    phone = new_phone(tmp_path)
    phone.world.disk.own("/data/system/packages.json").write_text("half writ")
    phone.power_on()
    await until(lambda: is_up(phone))
    assert phone.world.packages.get("android") is not None
    await phone.stop()


async def test_two_phones_of_one_seed_boot_alike(tmp_path: Path) -> None:
    async with (
        booted(tmp_path / "a", "-sim-seed", "7") as one,
        booted(tmp_path / "b", "-sim-seed", "7") as two,
    ):
        assert one.world.boot_id == two.world.boot_id
        assert one.world.processes.save()["last"] == two.world.processes.save()["last"]


async def test_restless_phones_differ_and_still_boot(tmp_path: Path) -> None:
    async with (
        booted(tmp_path / "a", "-sim-noise", "1") as one,
        booted(tmp_path / "b", "-sim-noise", "2") as two,
    ):
        assert one.world.boot_id != two.world.boot_id
        assert one.world.processes.save() != two.world.processes.save()
