"""The command line is the emulator's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone.faults.table import FAULTS
from simphone.options import READERS, OptionError, Options, parse

BAKED = (
    "-avd A -port 5554 -no-window -no-audio -no-boot-anim -no-metrics -gpu swiftshader_indirect "
    "-accel on -memory 4096 -cores 4 -timezone Etc/UTC -skip-adb-auth -snapshot TAG "
    "-force-snapshot-load -no-snapshot-save -camera-back none -camera-front none"
)


def test_the_farms_own_command_line_is_understood_whole() -> None:
    assert parse(BAKED.split()) == Options(
        avd="A",
        console_port=5554,
        adb_port=5555,
        no_boot_anim=True,
        memory_mb=4096,
        cores=4,
        skip_adb_auth=True,
        snapshot="TAG",
        force_snapshot_load=True,
        no_snapshot_save=True,
    )


def test_an_avd_can_be_named_with_an_at_sign() -> None:
    assert parse(["@phone"]).avd == "phone"


def test_what_follows_qemu_is_not_ours() -> None:
    assert parse(["-avd", "a", "-qemu", "-foo", "bar"]).avd == "a"


def test_the_adb_port_follows_the_console_port_unless_both_are_given() -> None:
    assert parse(["-port", "5590"]).adb_port == 5591
    options = parse(["-ports", "5612,5700"])
    assert (options.console_port, options.adb_port) == (5612, 5700)


def test_no_snapshot_means_neither_load_nor_save() -> None:
    options = parse(["-no-snapshot"])
    assert options.no_snapshot_load
    assert options.no_snapshot_save


def test_properties_and_faults_add_up() -> None:
    options = parse(
        ["-prop", "a=1", "-prop", "b=x=y", "-sim-fault", "anr,after=2", "-sim-fault", "anr"]
    )
    assert options.props == (("a", "1"), ("b", "x=y"))
    assert [(order.fault, order.after) for order in options.faults] == [
        (FAULTS["anr"], 2),
        (FAULTS["anr"], 0),
    ]
    assert not options.arming
    assert parse(["-sim-faults"]).arming


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["-foo"], "unknown option: -foo\nplease use -help for a list of valid options"),
        (["foo"], "invalid command-line parameter: foo."),
        (["-port"], "option -port requires a parameter"),
        (["-port", "x"], "option -port must be followed by an integer"),
        (["-port", "5555"], "option -port must be followed by an even integer, not 5555"),
        (["-port", "99999999999999999999"], "option -port must be followed by an integer"),
        (["-ports", "5554"], "option -ports must be followed by an integer"),
        (["-ports", "5554,5554"], "two different ports"),
        (["-memory", "-1"], "option -memory must be followed by an integer"),
        (["-prop", "x"], "option -prop must be followed by <name>=<value>"),
        (["-sim-fault", "nope"], "option -sim-fault: there is no fault 'nope', only: start-lock, "),
        (["-sim-fault", "anr,after=x"], "option -sim-fault: after must be a number from 0 to"),
        (["-wipe-data", "-snapshot", "t"], "-wipe-data cannot be used with -snapshot"),
    ],
)
def test_a_wrong_option_is_refused_in_one_clear_text(argv: list[str], said: str) -> None:
    with pytest.raises(OptionError) as refused:
        parse(argv)
    assert said in str(refused.value)


@given(st.lists(st.sampled_from([*READERS, "5554", "a=b", "x", "@y", ""]) | st.text(), max_size=6))
def test_any_words_are_options_or_refused(argv: list[str]) -> None:
    said = ""
    try:
        said = parse(argv).mode
    except OptionError as refused:
        said = str(refused)
    assert said
