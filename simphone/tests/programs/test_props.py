"""getprop and setprop."""

from __future__ import annotations

from simphone.processes import ROOT
from tests.programs.terminal import Terminal


async def test_a_property_is_printed_bare_and_all_in_brackets(terminal: Terminal) -> None:
    terminal.world.properties.force("ro.product.model", "sdk_gphone64_x86_64")
    assert await terminal.out("getprop ro.product.model") == "sdk_gphone64_x86_64\n"
    assert "[ro.product.model]: [sdk_gphone64_x86_64]\n" in await terminal.out("getprop")


async def test_a_missing_property_is_an_empty_line_or_the_default(terminal: Terminal) -> None:
    assert await terminal.out("getprop no.such") == "\n"
    assert await terminal.out("getprop no.such 42") == "42\n"


async def test_what_was_set_is_read_back(terminal: Terminal) -> None:
    assert await terminal.out("setprop debug.mark abc") == ""
    assert await terminal.out("getprop debug.mark") == "abc\n"


async def test_a_read_only_property_is_refused_with_inits_words(terminal: Terminal) -> None:
    terminal.world.properties.force("ro.x", "1")
    for uid in (ROOT, 2000):
        ran = await terminal.run("setprop ro.x y", uid=uid)
        assert ran.code == 1
        assert ran.err == "Failed to set property 'ro.x' to 'y'.\nSee dmesg for error reason.\n"
    assert await terminal.out("getprop ro.x") == "1\n"


async def test_a_value_past_91_characters_is_refused(terminal: Terminal) -> None:
    assert (await terminal.run("setprop debug.mark " + "x" * 92)).code == 1


async def test_too_few_words_are_a_usage_error(terminal: Terminal) -> None:
    assert (await terminal.run("setprop debug.mark")).code == 1
