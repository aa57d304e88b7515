"""`sqlite3` works on the phone's real files, and on nothing outside the phone."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone.programs.sqlite_script import is_blank, statements
from simphone.providers import sms
from simphone.world import World
from tests.phone import Answer, phone, run

DB = "/data/local/tmp/t.db"
MADE = """CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
INSERT INTO t VALUES (1, 'one, two'), (2, NULL), (3, 'it''s; here');"""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with phone(tmp_path) as world:
        yield world


@pytest.fixture
async def made(world: World) -> World:
    assert await run(world, "sqlite3", DB, stdin=MADE) == Answer(0, "", "")
    return world


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "1|one, two\n2|\n3|it's; here\n"),
        (["-header", "-separator", "~"], "a~b\n1~one, two\n2~\n3~it's; here\n"),
        (["-csv"], '1,"one, two"\n2,\n3,"it\'s; here"\n'),
        (
            ["-json"],
            '[{"a":1,"b":"one, two"},\n{"a":2,"b":null},\n{"a":3,"b":"it\'s; here"}]\n',
        ),
        (
            ["-line"],
            "    a = 1\n    b = one, two\n\n    a = 2\n    b = \n\n    a = 3\n    b = it's; here\n",
        ),
        (
            ["-column"],
            "a  b         \n-  ----------\n1  one, two  \n2            \n3  it's; here\n",
        ),
        (["-quote"], "1,'one, two'\n2,NULL\n3,'it''s; here'\n"),
        (["-nullvalue", "-", "-batch", "-readonly"], "1|one, two\n2|-\n3|it's; here\n"),
        (["-cmd", ".headers on"], "a|b\n1|one, two\n2|\n3|it's; here\n"),
    ],
)
async def test_rows_have_the_form_that_was_asked_for(
    made: World, options: list[str], expected: str
) -> None:
    answer = await run(made, "sqlite3", *options, DB, "SELECT * FROM t")
    assert answer == Answer(0, expected, "")


async def test_numbers_and_blobs_print_as_sqlite_does(world: World) -> None:
    answer = await run(world, "sqlite3", ":memory:", "SELECT 1.0, 1e100, 0.1, x'4142', 1e999")
    assert answer.out == "1.0|1.0e+100|0.1|AB|Inf\n"


async def test_an_error_on_the_command_line_ends_all_with_its_code(made: World) -> None:
    answer = await run(made, "sqlite3", DB, "SELECT 1; SELECT * FROM x; SELECT 2")
    assert answer == Answer(1, "1\n", "Error: in prepare, no such table: x\n")
    answer = await run(made, "sqlite3", DB, "INSERT INTO t VALUES (1, 2)")
    assert answer == Answer(19, "", "Error: stepping, UNIQUE constraint failed: t.a (19)\n")
    answer = await run(made, "sqlite3", "-readonly", DB, "DELETE FROM t")
    assert answer.err == "Error: stepping, attempt to write a readonly database (8)\n"


async def test_an_error_on_stdin_names_its_line_and_the_rest_runs(made: World) -> None:
    answer = await run(made, "sqlite3", DB, stdin="SELECT 1;\n\nSELECT nope;\nSELECT 2;\n")
    assert answer == Answer(1, "1\n2\n", "Parse error near line 3: no such column: nope\n")
    answer = await run(made, "sqlite3", "-bail", DB, stdin="SELECT nope;\nSELECT 2;\n")
    assert answer.out == ""


async def test_dot_commands_show_the_schema(made: World) -> None:
    script = ".tables\n.schema t\n.headers on\n.mode csv\nSELECT a FROM t WHERE a=1;\n.quit\nx;"
    answer = await run(made, "sqlite3", DB, stdin=script)
    schema = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);\n"
    assert answer == Answer(0, f"t\n{schema}a\r\n1\r\n", "")
    dump = (await run(made, "sqlite3", DB, ".dump")).out
    assert dump.startswith("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t")
    assert dump.endswith("COMMIT;\n")
    answer = await run(made, "sqlite3", DB, ".frob")
    assert answer.err == (
        'Error: unknown command or invalid arguments:  "frob". Enter ".help" for help\n'
    )


async def test_only_root_opens_a_provider_database(world: World) -> None:
    sms.add(world, "5551234", "hi", sms.INBOX)
    sql = "SELECT address, body FROM sms"
    assert (await run(world, "sqlite3", sms.PATH, sql, root=True)).out == "5551234|hi\n"
    assert await run(world, "sqlite3", sms.PATH, sql) == Answer(
        1, "", f'Error: unable to open database "{sms.PATH}": unable to open database file\n'
    )


@pytest.mark.parametrize("path", ["/nowhere/x.db", "/data/local/tmp", "/data/local/tmp/no/x.db"])
async def test_what_cannot_be_opened_says_so(world: World, path: str) -> None:
    assert await run(world, "sqlite3", path, "SELECT 1") == Answer(
        1, "", f'Error: unable to open database "{path}": unable to open database file\n'
    )


async def test_a_file_that_is_no_database_says_so(world: World) -> None:
    world.disk.own(DB).write_bytes(b"hello, this is no database" * 100)
    for sql in ("SELECT * FROM t", ".tables"):
        answer = await run(world, "sqlite3", DB, sql)
        assert answer == Answer(26, "", "Error: in prepare, file is not a database (26)\n")


async def test_what_sqlite3_writes_the_provider_reads_at_once(world: World) -> None:
    sms.add(world, "5551234", "old", sms.INBOX)
    await run(world, "sqlite3", sms.PATH, "UPDATE sms SET body='new'", root=True)
    shown = await run(world, "content", "query", "--uri", "content://sms", "--projection", "body")
    assert shown.out == "Row: 0 body=new\n"


async def test_a_transaction_left_open_is_undone_and_locks_nobody(world: World) -> None:
    row = sms.add(world, "5551234", "old", sms.INBOX)
    await run(world, "sqlite3", sms.PATH, "BEGIN IMMEDIATE; DELETE FROM sms", root=True)
    assert sms.message(world, row) is not None
    sms.add(world, "5551234", "next", sms.INBOX)


async def test_sql_does_not_leave_the_phone(made: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret.db"
    with sqlite3.connect(secret) as connection:
        connection.execute("CREATE TABLE s AS SELECT 'host' AS x")
    connection.close()
    before = secret.read_bytes()
    target = tmp_path / "out.db"
    for sql in (
        f"ATTACH '{secret}' AS h; SELECT x FROM h.s",
        f"ATTACH '{tmp_path}' || '/secret.db' AS h; SELECT x FROM h.s",
        f"ATTACH 'file:{secret}' AS h; SELECT x FROM h.s",
        f"VACUUM INTO '{target}'",
        f"VACUUM INTO '{tmp_path}' || '/out.db'",
        f"SELECT readfile('{secret}')",
        f"SELECT writefile('{target}', 'x')",
        f"SELECT load_extension('{secret}')",
        f"PRAGMA temp_store_directory='{tmp_path}'",
        f".read {secret}",
        f".output {target}",
        f".shell touch {target}",
    ):
        answer = await run(made, "sqlite3", DB, sql, root=True)
        assert answer.code != 0, sql
        assert answer.out == ""
        assert not target.exists()
    for path in (f"{secret}", f"../../../../..{secret}", f"file:{secret}"):
        assert "host" not in (await run(made, "sqlite3", path, "SELECT x FROM s", root=True)).out
    assert secret.read_bytes() == before


async def test_a_plain_vacuum_works(made: World) -> None:
    assert await run(made, "sqlite3", DB, "VACUUM") == Answer(0, "", "")


async def test_a_link_beside_a_database_leads_nowhere(made: World, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    made.disk.own(f"{DB}-journal").symlink_to(victim)
    made.disk.own(f"{DB}-wal").symlink_to(victim)
    await run(made, "sqlite3", DB, "DELETE FROM t", root=True)
    await run(made, "sqlite3", DB, "PRAGMA journal_mode=WAL; DELETE FROM t", root=True)
    assert victim.read_bytes() == b"precious"


async def test_endless_sql_is_interrupted_and_endless_rows_are_too_big(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT {} FROM c"
    big = await run(world, "sqlite3", ":memory:", endless.format("hex(randomblob(100000))"))
    assert big.err == "Error: stepping, string or blob too big (18)\n"
    monkeypatch.setattr("simphone.guest_sql.PATIENCE_S", 0.05)
    answer = await run(world, "sqlite3", ":memory:", endless.format("max(x)"))
    assert answer == Answer(9, "", "Error: stepping, interrupted (9)\n")


async def test_at_a_terminal_each_statement_answers_as_it_ends(made: World) -> None:
    typed = "SELECT a\nFROM t LIMIT 1;\nSELECT nope;\n.quit\nSELECT 2;\n"
    answer = await run(made, "sqlite3", DB, stdin=typed, tty=True)
    head, _, rest = answer.out.partition("sqlite> ")
    assert head.startswith("SQLite version 3.")
    assert rest == "   ...> 1\nsqlite> sqlite> "
    assert answer.err == "Parse error: no such column: nope\n"


async def test_text_that_is_not_utf_8_is_read_with_replacements(world: World) -> None:
    row = sms.add(world, "5551234", "x", sms.INBOX)
    broken = "UPDATE sms SET body = CAST(x'41ff42' AS TEXT)"
    assert (await run(world, "sqlite3", sms.PATH, broken, root=True)).err == ""
    found = sms.message(world, row)
    assert found is not None
    assert found.body == "A\ufffdB"


async def test_an_unknown_option_is_an_error(world: World) -> None:
    assert await run(world, "sqlite3", "-frob", DB) == Answer(
        1, "", "sqlite3: Error: unknown option: -frob\nUse -help for a list of options.\n"
    )


def test_semicolons_in_text_comments_and_triggers_end_nothing() -> None:
    script = (
        "SELECT ';', \";\" -- ;\n/* ; */ ;CREATE TRIGGER x AFTER INSERT ON t BEGIN\n"
        "DELETE FROM t; SELECT 1; END;\n.tables ;\n;;SELECT 1"
    )
    found = [(s.line, s.dot, s.text[:8]) for s in statements(script)]
    assert found == [
        (1, False, "SELECT '"),
        (2, False, "CREATE T"),
        (4, True, ".tables "),
        (5, False, "SELECT 1"),
    ]


@given(st.text(alphabet="'\"`[]-/*; \n.aé", max_size=60))
def test_splitting_loses_nothing_but_blanks(script: str) -> None:
    at = 0
    for statement in statements(script):
        found = script.index(statement.text, at)
        assert is_blank(script[at:found])
        at = found + len(statement.text)
    assert is_blank(script[at:])
