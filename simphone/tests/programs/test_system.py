"""Clock, users and processes, as Android's programs tell and change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from simphone.processes import ROOT, SHELL, SYSTEM
from tests.guest import Answer, Guest


class Machine:
    """Records what the phone asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def reboot(self) -> None:
        self.asked.append("reboot")

    def restart_adbd(self, *, root: bool) -> None:
        self.asked.append(f"adbd root={root}")

    def power_off(self) -> None:
        self.asked.append("power off")


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    guest = Guest(tmp_path / "guest")
    guest.world.control = Machine()
    spawn = guest.world.processes.spawn
    spawn("init", ROOT, 0, pid=1)
    spawn("adbd", SHELL, pid=300)
    zygote = spawn("zygote64", ROOT, pid=400)
    spawn("system_server", SYSTEM, zygote.pid, pid=500)
    spawn("com.android.settings", 10100, zygote.pid, pid=600)
    return guest


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("id -u; id -un; whoami", "2000\nshell\nshell\n"),
        ("su 0 id -u; su 0 whoami", "0\nroot\n"),
        ("uname; uname -m", "Linux\nx86_64\n"),
        ("pidof system_server; pidof adbd zygote64", "500\n400 300\n"),
        ("pgrep settings; pgrep -x adbd; pgrep -f com.android.settings", "600\n300\n600\n"),
        ("ps -A -o PID,NAME | grep -w 500", "  500 system_server\n"),
        ("ps -p 500 -o NAME=", "system_server\n"),
        ("ps -o USER= -p 600", "u0_a100\n"),
        ("date -u -d @0; date -d @1700000000 '+%Y-%m-%d %H:%M:%S'",
         "Thu Jan  1 00:00:00 UTC 1970\n2023-11-14 22:13:20\n"),
        ("date -d @1.5 +%s%3N; date -d '2024-02-29 12:00:00' +%s", "1500\n1709208000\n"),
        ("nproc; getenforce", "4\nEnforcing\n"),
        ("echo $ANDROID_ROOT $HOME $EXTERNAL_STORAGE $USER", "/system / /sdcard shell\n"),
    ],
)  # fmt: skip
async def test_facts(guest: Guest, script: str, out: str) -> None:
    assert await guest.sh(script) == Answer(0, out, "")


async def test_ps_shows_toyboxs_columns(guest: Guest) -> None:
    head, *rows = (await guest.sh("ps -A")).out.splitlines()
    assert head.split() == ["USER", "PID", "PPID", "VSZ", "RSS", "WCHAN", "ADDR", "S", "NAME"]
    assert ["root", "1", "0"] in [row.split()[:3] for row in rows]
    assert rows[-1].split()[-1] == "ps"
    assert [row.split()[-1] for row in (await guest.sh("ps")).out.splitlines()[1:]] == ["sh", "ps"]


async def test_only_root_sets_the_clock(guest: Guest) -> None:
    refused = await guest.sh("date 010203042030.05")
    assert refused == Answer(1, "", "date: cannot set date: Operation not permitted\n")
    answer = await guest.sh("date 010203042030.05 >/dev/null; date +%Y%m%d%H%M", root=True)
    assert answer == Answer(0, "203001020304\n", "")
    answer = await guest.sh("su 0 date @1700000000; date +%s | cut -c1-8")
    assert answer.out == "Tue Nov 14 22:13:20 UTC 2023\n17000000\n"
    assert (await guest.sh("date 139999999999", root=True)).code == 1
    assert (await guest.sh("date nonsense", root=True)).err == "date: bad date nonsense\n"


async def test_a_user_kills_only_its_own(guest: Guest) -> None:
    answer = await guest.sh("kill 500; kill 600; kill 12345; kill x")
    assert answer.err.splitlines() == [
        "kill: bad pid '500': Operation not permitted",
        "kill: bad pid '600': Operation not permitted",
        "kill: bad pid '12345': No such process",
        "kill: unknown pid 'x'",
    ]
    assert (await guest.sh("kill -0 600; su 0 kill -0 600; echo $?; pidof adbd")).out == "0\n300\n"


async def test_a_killed_app_is_gone_and_a_killed_framework_comes_back(guest: Guest) -> None:
    world = guest.world
    assert (await guest.sh("kill 600; pidof com.android.settings", root=True)).out == ""
    assert (await guest.sh("pkill -9 system_server; pidof system_server", root=True)).code == 1
    assert world.properties.get("init.svc.zygote") == "restarting"
    assert [effect["name"] for effect in world.effects.save()] == ["framework.start"]
    world.effects.cancel()


async def test_a_killed_adbd_is_started_again(guest: Guest) -> None:
    machine = guest.world.control
    assert isinstance(machine, Machine)
    assert (await guest.sh("killall adbd")).code == 0
    assert (await guest.sh("reboot; reboot -p; su 0 stop adbd")).code == 0
    assert machine.asked == ["adbd root=False", "reboot", "power off", "adbd root=True"]


async def test_what_a_shell_runs_is_not_in_a_snapshot(guest: Guest) -> None:
    names = [process["name"] for process in guest.world.processes.save()["table"]]
    assert (await guest.sh("ps -A -o NAME= | sort | uniq | tr '\\n' ' '")).out.count("sh ") == 1
    assert "sh" not in names


async def test_a_defect_in_a_program_is_not_the_phones_end(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: object) -> int:
        raise KeyError("defect")

    from simphone.programs import table

    monkeypatch.setitem(table.PROGRAMS, "uname", broken)
    assert await guest.sh("uname; echo $?") == Answer(0, "134\n", "Aborted\n")
    assert "uname" in caplog.text


async def test_every_program_counts_the_same_memory(guest: Guest) -> None:
    total = (await guest.sh("sed -n 's/MemTotal: *//p' /proc/meminfo")).out.split()[0]
    assert total == str(2048 * 1024)  # hw.ramSize
    assert (await guest.sh("free -k")).out.splitlines()[1].split()[1] == total
    assert f" {total}K total," in (await guest.sh("top -n 1")).out
