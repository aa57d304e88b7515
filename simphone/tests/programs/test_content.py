"""`content` prints what android's does, escapes nothing, and exits 0 whatever happens."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simphone.faults.seam import Faults
from simphone.providers import contacts, media, sms
from simphone.world import World
from tests.phone import Answer, phone, run

SMS = "content://sms"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with phone(tmp_path) as world:
        yield world


async def query(world: World, *options: str, uri: str = SMS) -> Answer:
    answer = await run(world, "content", "query", "--uri", uri, *options)
    assert answer.code == 0
    return answer


async def test_rows_are_printed_unescaped_in_the_order_of_the_projection(world: World) -> None:
    sms.add(world, "+1555", "Order 42, shipped today", sms.INBOX, date_ms=1788280004066)
    answer = await query(world, "--projection", "address:body:date:subject")
    assert answer.out == (
        "Row: 0 address=+1555, body=Order 42, shipped today, date=1788280004066, subject=NULL\n"
    )


async def test_a_blob_is_called_so_and_a_real_number_has_a_point(world: World) -> None:
    sms.add(world, "1", "x", sms.INBOX)
    world.databases.execute(sms.PATH, "UPDATE sms SET body = x'00ff', subject = 1.5")
    world.databases.execute(sms.PATH, "UPDATE sms SET error_code = 2.5")
    answer = await query(world, "--projection", "body:error_code")
    assert answer.out == "Row: 0 body=BLOB, error_code=2.5\n"


async def test_nothing_found_says_so(world: World) -> None:
    assert await query(world) == Answer(0, "No result found.\n", "")


async def test_where_and_sort_are_sql(world: World) -> None:
    for number, body in enumerate(("it's", "a=b, c=d", "two\nlines")):
        sms.add(world, "5551234", body, sms.INBOX if number else sms.SENT, date_ms=1000 + number)
    shown = await query(world, "--projection", "body", "--where", "body='it''s'")
    assert shown.out == "Row: 0 body=it's\n"
    shown = await query(
        world, "--projection", "body", "--sort", "date ASC", uri="content://sms/inbox"
    )
    assert shown.out == "Row: 0 body=a=b, c=d\nRow: 1 body=two\nlines\n"
    shown = await query(world, "--projection", "count(*)", "--where", "type=1 OR type=2")
    assert shown.out == "Row: 0 count(*)=3\n"


async def test_a_bad_column_is_an_sqlite_trace_with_exit_0(world: World) -> None:
    answer = await query(world, "--projection", "nope")
    assert answer.out == ""
    lines = answer.err.splitlines()
    assert lines[0] == "Error while accessing provider:sms"
    assert lines[1] == (
        "android.database.sqlite.SQLiteException: no such column: nope (code 1 SQLITE_ERROR): "
        ", while compiling: SELECT nope FROM sms ORDER BY date DESC"
    )
    assert all(line.startswith("\tat ") for line in lines[2:])


async def test_a_strict_provider_names_the_invalid_column(world: World) -> None:
    answer = await query(world, "--projection", "nope", uri="content://call_log/calls")
    assert answer.err.splitlines()[1] == "java.lang.IllegalArgumentException: Invalid column nope"


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        ("content://nobody/x", "java.lang.IllegalStateException: Could not find provider: nobody"),
        ("garbage", "java.lang.IllegalStateException: Could not find provider: null"),
        (
            "content://call_log/nothing",
            "java.lang.IllegalArgumentException: Unknown URL content://call_log/nothing",
        ),
    ],
)
async def test_an_unknown_uri_is_a_java_error(world: World, uri: str, error: str) -> None:
    assert (await query(world, uri=uri)).err.splitlines()[1] == error


async def test_the_shell_writes_no_messages_and_is_not_told(world: World) -> None:
    insert = ("content", "insert", "--uri", SMS, "--bind", "address:s:1", "--bind", "body:s:x")
    assert await run(world, *insert) == Answer(0, "", "")
    assert sms.threads(world) == []
    assert await run(world, *insert, root=True) == Answer(0, "", "")
    assert [thread.snippet for thread in sms.threads(world)] == ["x"]
    assert await run(world, "content", "delete", "--uri", SMS) == Answer(0, "", "")
    assert len(sms.threads(world)) == 1
    assert await run(world, "content", "delete", "--uri", SMS, root=True) == Answer(0, "", "")
    assert sms.threads(world) == []


async def test_conversations_show_their_latest_message(world: World) -> None:
    sms.add(world, "5551234", "old", sms.INBOX, date_ms=1)
    sms.add(world, "5551234", "new", sms.INBOX, date_ms=2)
    shown = await query(world, "--projection", "msg_count:snippet", uri=f"{SMS}/conversations")
    assert shown.out == "Row: 0 msg_count=2, snippet=new\n"
    threads = "content://mms-sms/conversations?simple=true"
    shown = await query(world, "--projection", "message_count:snippet", uri=threads)
    assert shown.out == "Row: 0 message_count=2, snippet=new\n"
    shown = await query(world, "--projection", "body", uri="content://mms-sms/conversations")
    assert shown.out == "Row: 0 body=new\n"


async def test_settings_are_rows_too(world: World) -> None:
    uri = "content://settings/secure"
    for value in ("one", "two: with, colons"):
        await run(
            world, "content", "insert", "--uri", uri, "--bind", "name:s:k",
            "--bind", f"value:s:{value}",
        )  # fmt: skip
    assert world.settings.get("secure", "k") == "two: with, colons"
    shown = await query(world, "--projection", "name:value", "--where", "name='k'", uri=uri)
    assert shown.out == "Row: 0 name=k, value=two: with, colons\n"
    await run(world, "content", "delete", "--uri", uri, "--where", "name='k'")
    assert world.settings.get("secure", "k") is None


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ([], "Unsupported operation: null"),
        (["frob"], "Unsupported operation: frob"),
        (
            ["query"],
            "Content provider URI not specified. Did you specify --uri argument?",
        ),
        (["query", "--uri"], "No value for argument: --uri"),
        (["query", "--uri", SMS, "--frob", "x"], "Unsupported argument: --frob"),
        (
            ["insert", "--uri", SMS],
            "Bindings not specified. Did you specify --bind argument(s)?",
        ),
        (["insert", "--uri", SMS, "--bind", "x"], "Binding not well formed: x"),
        (["insert", "--uri", SMS, "--bind", "x:q:1"], "Unsupported type: q"),
        (["insert", "--uri", SMS, "--bind", "x:i:99999999999"], 'For input string: "99999999999"'),
    ],
)
async def test_bad_usage_prints_the_usage_on_stdout_and_exits_0(
    world: World, args: list[str], error: str
) -> None:
    answer = await run(world, "content", *args)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("usage: adb shell content [subcommand] [options]\n")
    assert answer.out.endswith(f"\n[ERROR] {error}\n")


async def test_without_the_framework_it_fails_and_still_exits_0(world: World) -> None:
    world.processes.clear()
    answer = await query(world)
    assert answer.out == ""
    assert "java.lang.NullPointerException" in answer.err


@pytest.mark.parametrize(
    "where",
    [
        "1); DROP TABLE sms; --",
        "1) UNION SELECT 1 --",
        "load_extension('/x')",
        "readfile('/etc/hostname')",
        "'",
        "x\0y",
    ],
)
async def test_hostile_conditions_are_errors(world: World, where: str) -> None:
    sms.add(world, "1", "kept", sms.INBOX)
    answer = await query(world, "--projection", "body:date", "--where", where)
    assert answer.err.startswith("Error while accessing provider:sms\n")
    assert len(sms.threads(world)) == 1


async def test_an_endless_condition_is_interrupted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simphone.guest_sql.PATIENCE_S", 0.05)
    sms.add(world, "1", "x", sms.INBOX)
    endless = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c)"
    answer = await query(world, "--where", endless)
    assert answer.err.splitlines()[1] == "android.os.OperationCanceledException: interrupted"


async def test_a_fault_can_be_planted_where_rows_are_printed(world: World) -> None:
    world.faults = Faults({"content.query": lambda text: ""})
    assert (await query(world)).out == ""


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=4)
)
async def test_any_body_comes_back_between_its_neighbouring_keys(bodies: list[str]) -> None:
    """Where a body does not itself look like the next key, a reader gets it back whole."""
    bodies = [body for body in bodies if ", type=" not in body and "\nRow: " not in body]
    with tempfile.TemporaryDirectory() as folder:
        async with phone(Path(folder)) as world:
            for number, body in enumerate(bodies):
                sms.add(world, "5551234", body, sms.INBOX, date_ms=1000 - number)
            shown = (await query(world, "--projection", "address:body:type")).out
    rows = shown.removeprefix("Row: 0 ").split("\nRow: ") if bodies else []
    found = [row.partition("body=")[2].rpartition(", type=")[0] for row in rows]
    assert found == bodies


async def test_a_file_of_the_shared_storage_is_read_and_written_by_its_row(world: World) -> None:
    world.disk.own("/data/media/0/Download/note.txt").write_bytes(b"one")
    media.scan(world)
    answer = await query(world, "--projection", "_id", uri="content://media/external/file")
    uri = "content://media/external/file/" + answer.out.strip().rpartition("=")[2]
    assert (await run(world, "content", "read", "--uri", uri)).out == "one"
    await run(world, "content", "write", "--uri", uri, stdin="two")
    assert (await run(world, "content", "read", "--uri", uri)).out == "two"
    for bad in (f"{uri}0", SMS):
        answer = await run(world, "content", "read", "--uri", bad)
        assert (answer.code, answer.out) == (0, "")
        assert "java.io.FileNotFoundException: No " in answer.err


@pytest.mark.parametrize(
    ("path", "table", "words"),
    [
        (sms.PATH, "canonical_addresses", ("insert", SMS, "--bind", "address:s:1")),
        (contacts.PATH, "raw_contacts",
         ("query", "content://com.android.contacts/phone_lookup/5550123")),
    ],
)  # fmt: skip
async def test_a_table_that_root_dropped_is_the_providers_error(
    world: World, path: str, table: str, words: tuple[str, ...]
) -> None:
    await run(world, "sqlite3", path, f"DROP TABLE {table}", root=True)
    verb, uri, options = words[0], words[1], words[2:]
    answer = await run(world, "content", verb, "--uri", uri, *options, root=True)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith("Error while accessing provider:")
    assert "SQLiteException: no such table: " in answer.err
