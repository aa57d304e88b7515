"""logcat and log."""

from __future__ import annotations

import asyncio
import re

import pytest

from simphone.programs.call import Call
from simphone.programs.logcat import logcat
from simphone.streams import Collected, Discard, Fixed
from tests.programs.terminal import Terminal

HEADER = "--------- beginning of main\n"


async def written(terminal: Terminal) -> None:
    await terminal.out("logcat -c")
    terminal.world.logcat.write("Net", "up", level="I", pid=321)
    terminal.world.logcat.write("Net", "odd", level="W", pid=321)
    terminal.world.logcat.write("Other", "boom", level="E", pid=44)


async def test_a_dump_has_a_header_and_the_threadtime_format(terminal: Terminal) -> None:
    await written(terminal)
    lines = (await terminal.out("logcat -d")).splitlines()
    assert lines[0] == HEADER.strip()
    stamp = r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
    assert re.fullmatch(rf"{stamp}   321   321 I Net     : up", lines[1])
    assert len(lines) == 4


async def test_an_empty_log_prints_nothing(terminal: Terminal) -> None:
    await terminal.out("logcat -c")
    assert await terminal.out("logcat -d") == ""


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("-v brief", r"E/Other   \(   44\): boom"),
        ("-v raw", r"boom"),
        ("-v tag", r"E/Other   : boom"),
        ("-v process", r"E\(   44\) boom  \(Other\)"),
        ("-v time", r"\d\d-\d\d [\d:]{8}\.\d{3} E/Other   \(   44\): boom"),
        ("-v epoch", r" +\d{10}\.\d{3}    44    44 E Other   : boom"),
        ("-v threadtime -v year", r"\d{4}-\d\d-\d\d [\d:]{8}\.\d{3}    44    44 E Other   : boom"),
    ],
)
async def test_formats_are_logcats(terminal: Terminal, options: str, line: str) -> None:
    await written(terminal)
    out = await terminal.out(f"logcat -d {options}")
    assert re.fullmatch(line, out.splitlines()[-1])


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ("Net:W *:S", ["odd"]),
        ("-s Net", ["up", "odd"]),
        ("-s Net:E", []),
        ("*:E", ["boom"]),
        ("Net:S", ["boom"]),
        ("--pid=44", ["boom"]),
        ("-e '^o'", ["odd"]),
        ("-t 2", ["odd", "boom"]),
        ("-m 1", ["up"]),
        ("-b crash", []),
        ("-b all", ["up", "odd", "boom"]),
    ],
)
async def test_filters_choose_lines(terminal: Terminal, options: str, texts: list[str]) -> None:
    await written(terminal)
    out = await terminal.out(f"logcat -d -v raw {options}")
    assert out == ((HEADER + "".join(f"{text}\n" for text in texts)) if texts else "")


async def test_a_follower_sees_lines_as_they_come(terminal: Terminal) -> None:
    await terminal.out("logcat -c")
    out = Collected()
    argv = ["logcat", "-v", "raw", "-m", "2"]
    call = Call(terminal.world, argv, Fixed(), out, Discard())
    follower = asyncio.create_task(logcat(call))
    for text in ("one", "two"):
        await asyncio.sleep(0)
        terminal.world.logcat.write("T", text)
    assert await asyncio.wait_for(follower, 60) == 0
    assert out.data.decode() == f"{HEADER}one\ntwo\n"


async def test_a_follower_can_be_cancelled(terminal: Terminal) -> None:
    call = Call(terminal.world, ["logcat"], Fixed(), Discard(), Discard())
    follower = asyncio.create_task(logcat(call))
    await asyncio.sleep(0)
    follower.cancel()
    with pytest.raises(asyncio.CancelledError):
        await follower


async def test_buffers_have_sizes(terminal: Terminal) -> None:
    assert await terminal.out("logcat -G 2M") == ""
    assert (await terminal.out("logcat -g")).startswith("main: ring buffer is 2 MiB (")


@pytest.mark.parametrize("options", ["-b odd", "-v odd", "-e '('", "-G big", "--odd", "--pid=x"])
async def test_bad_options_end_with_an_error(terminal: Terminal, options: str) -> None:
    ran = await terminal.run(f"logcat -d {options}")
    assert ran.code == 1
    assert ran.err.startswith("logcat: ")


async def test_log_writes_a_line(terminal: Terminal) -> None:
    await terminal.out("logcat -c")
    assert await terminal.out("log -t Mark -p w hello there") == ""
    assert (await terminal.out("logcat -d -v tag")).endswith("W/Mark    : hello there\n")
    assert (await terminal.run("log -p x y")).code == 1
