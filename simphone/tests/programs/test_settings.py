"""`settings` keeps three namespaces and complains in the service's own words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simphone.faults.seam import Faults
from simphone.world import World
from tests.phone import Answer, phone, run


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with phone(tmp_path) as world:
        yield world


async def test_a_value_is_kept_listed_and_deleted(world: World) -> None:
    assert await run(world, "settings", "get", "system", "k") == Answer(0, "null\n", "")
    assert await run(world, "settings", "put", "system", "k", "a b=c") == Answer(0, "", "")
    assert await run(world, "settings", "get", "SYSTEM", "k") == Answer(0, "a b=c\n", "")
    assert await run(world, "settings", "get", "secure", "k") == Answer(0, "null\n", "")
    await run(world, "settings", "put", "--user", "0", "system", "a", "1", "tag", "default")
    assert await run(world, "settings", "list", "system") == Answer(0, "a=1\nk=a b=c\n", "")
    assert await run(world, "settings", "delete", "system", "k") == Answer(
        0, "Deleted 1 rows\n", ""
    )
    assert await run(world, "settings", "delete", "system", "k") == Answer(
        0, "Deleted 0 rows\n", ""
    )


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["frob"], "Invalid command: frob"),
        (["get"], "Bad arguments"),
        (["get", "nowhere", "k"], "Invalid namespace 'nowhere'"),
        (["get", "system"], "Bad arguments"),
        (["get", "system", "a", "b"], "Too many arguments"),
        (["put", "system", "k"], "Bad arguments"),
        (["put", "system", "k", "v", "t", "x"], "Argument expected to be 'default'"),
        (["get", "--user", "all", "system", "k"], "Invalid user: all"),
        (["get", "system", "--user"], "Bad arguments"),
    ],
)
async def test_bad_arguments_exit_255(world: World, args: list[str], error: str) -> None:
    assert await run(world, "settings", *args) == Answer(255, "", f"{error}\n")


async def test_without_the_framework_there_is_no_service(world: World) -> None:
    world.processes.clear()
    assert await run(world, "settings", "get", "system", "k") == Answer(
        20, "", "cmd: Can't find service: settings\n"
    )
    assert await run(world, "telecom", "get-default-dialer") == Answer(
        20, "", "cmd: Can't find service: telecom\n"
    )


async def test_a_fault_can_be_planted_at_a_read(world: World) -> None:
    world.faults = Faults({"settings.get": lambda text: "wrong"})
    assert (await run(world, "settings", "get", "system", "k")).out == "wrong\n"


async def test_a_value_that_is_null_reads_as_a_missing_one(world: World) -> None:
    secure = "content://settings/secure"
    await run(
        world, "content", "insert", "--uri", secure, "--bind", "name:s:k", "--bind", "value:n:"
    )
    assert (await run(world, "settings", "get", "secure", "k")).out == "null\n"
    assert (await run(world, "settings", "list", "secure")).out == "k=null\n"


async def test_the_default_dialer_is_the_dialer(world: World) -> None:
    assert await run(world, "telecom", "get-default-dialer") == Answer(
        0, "com.android.dialer\n", ""
    )
