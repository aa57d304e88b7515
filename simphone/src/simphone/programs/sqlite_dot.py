"""sqlite3's dot commands: those that look at a database or set how it is shown."""

from __future__ import annotations

import shlex
import sqlite3
from dataclasses import replace

from .sqlite_output import MODES, Format, side_by_side

HELP = """.dump ?TABLE?            Render database content as SQL
.exit                    Exit this program
.headers on|off          Turn display of headers on or off
.help                    Show this text
.indexes ?TABLE?         Show names of indexes
.mode MODE               Set output mode
.nullvalue STRING        Use STRING in place of NULL values
.quit                    Exit this program
.schema ?PATTERN?        Show the CREATE statements matching PATTERN
.separator COL ?ROW?     Change the column and row separators
.tables ?TABLE?          List names of tables matching LIKE pattern TABLE
"""


class Quit(Exception):
    """The script asked to end."""


class DotError(Exception):
    """What the program prints on stderr for a bad dot command."""


def run(connection: sqlite3.Connection, command: str, form: Format) -> tuple[str, Format]:
    """What the command prints, and how rows are shown from now on."""
    try:
        name, *args = shlex.split(command[1:]) or [""]
    except ValueError:
        name, args = command[1:], []
    first = args[0] if args else ""
    match name:
        case "quit" | "exit" | "q":
            raise Quit
        case "tables":
            return side_by_side(_names(connection, "type IN ('table','view')", first)), form
        case "indexes" | "indices":
            return side_by_side(_names(connection, "type = 'index'", first, "tbl_name")), form
        case "schema":
            return _schema(connection, first), form
        case "dump":
            return _dump(connection, first), form
        case "help":
            return HELP, form
        case "headers" | "header" if args:
            return "", replace(form, header=first.lower() in ("on", "yes", "1", "true"))
        case "mode" if first in MODES:
            return "", in_mode(form, first, newline="\r\n" if first == "csv" else "\n")
        case "mode" if first:
            known = " ".join(sorted(MODES))
            raise DotError(f"Error: mode should be one of: {known}")
        case "nullvalue" if args:
            return "", replace(form, null=first)
        case "separator" if args:
            newline = _unescape(args[1]) if len(args) > 1 else form.newline
            return "", replace(form, separator=_unescape(first), newline=newline)
        case "bail" | "timeout" | "echo" | "width" | "changes" | "timer":
            return "", form
    raise DotError(
        f'Error: unknown command or invalid arguments:  "{name}". Enter ".help" for help'
    )


def in_mode(form: Format, mode: str, newline: str = "\n") -> Format:
    separator = {"csv": ",", "tabs": "\t", "list": "|"}.get(mode, form.separator)
    return replace(form, mode=mode, separator=separator, newline=newline)


def _unescape(text: str) -> str:
    return text.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r")


def _names(
    connection: sqlite3.Connection, kind: str, pattern: str, column: str = "name"
) -> list[str]:
    sql = f"""SELECT name FROM sqlite_schema WHERE {kind} AND name NOT LIKE 'sqlite\\_%'
              ESCAPE '\\' AND {column} LIKE ? ORDER BY name"""
    return [str(row[0]) for row in connection.execute(sql, (pattern or "%",))]


def _schema(connection: sqlite3.Connection, pattern: str) -> str:
    sql = """SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND tbl_name LIKE ?
             ORDER BY rowid"""
    return "".join(f"{row[0]};\n" for row in connection.execute(sql, (pattern or "%",)))


def _dump(connection: sqlite3.Connection, table: str) -> str:
    lines = [
        line
        for line in connection.iterdump()
        if not table or table in line or line in ("BEGIN TRANSACTION;", "COMMIT;")
    ]
    return "".join(f"{line}\n" for line in ["PRAGMA foreign_keys=OFF;", *lines])
