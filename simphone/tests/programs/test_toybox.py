"""The programs answer these scripts as toybox does: output, errors and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest import Guest
from tests.reference import check, scripts


@pytest.mark.parametrize("script", scripts(Path(__file__).with_name("toybox.txt").read_text()))
async def test_a_script_answers_as_with_toybox(tmp_path: Path, script: str) -> None:
    await check(Guest(tmp_path / "guest"), script)


# Android's toybox has dd, diff, gzip and tr, and Debian's is built without them.
NOT_IN_DEBIANS: list[tuple[str, str]] = [
    ("echo hello | tr a-z A-Z; echo hello | tr -d l; echo hello | tr el ip", "HELLO\nheo\nhippo\n"),
    ("echo aabbc | tr -s a; echo aabb | tr -s ab xy; echo hello | tr -d aeiou", "abbc\nxy\nhll\n"),
    (r"printf 'a\nb\n' | tr '\n' ' '; printf 'a\r\n' | tr -d '\r'", "a b a\n"),
    ("echo a-b | tr - _", "a_b\n"),
    ("echo abc123 | tr -cd '[:digit:]'; echo A B | tr '[:upper:]' '[:lower:]'", "123a b\n"),
    (r"printf 'a\0b' | tr '\0' '|'", "a|b"),
    ("printf abc > a; printf abd > b; diff a a; echo $?; diff -q a b; echo $?",
     "0\nFiles a and b differ\n1\n"),
    ("printf 12345 > f; dd if=f of=g bs=2 count=2 2>/dev/null; cat g", "1234"),
    ("printf 12345 > f; dd if=f bs=1 skip=3 2>/dev/null", "45"),
    ("printf 'a\\nb\\n' > f; gzip f; ls; gunzip f.gz; cat f; gzip -c f | zcat; gzip -k f; ls",
     "f.gz\na\nb\na\nb\nf\nf.gz\n"),
    ("mkdir -p d/e; echo 1 > d/a; >d/e/b; tar czf t -C d a e; tar tzf t; tar xzf t a; cat a",
     "a\ne/\ne/b\n1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "output"), NOT_IN_DEBIANS)
async def test_what_debians_toybox_lacks_answers_as_androids(
    tmp_path: Path, script: str, output: str
) -> None:
    answer = await Guest(tmp_path / "guest").sh(script)
    assert (answer.out, answer.err, answer.code) == (output, "", 0)
