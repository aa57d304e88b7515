"""Text programs give the lines that toybox's give."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone import expression
from simphone.programs.regex import BadExpression, compiled
from tests.guest import Answer, Guest
from tests.reference import check, scripts


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    return Guest(tmp_path / "guest")


SAME_AS_TOYBOX = r"""
seq 1 20 > f; head f; head -n 3 f; head -3 f; head -c 5 f; tail -n 2 f; tail -2 f
tail -c 4 f; tail -n +18 f; tail -c +45 f; printf 'a\nb' | tail -n 1; printf 'a\nb' | head -n 5
----
seq 3 | head -n 0; seq 3 > a; seq 2 > b; head -n 1 a b; head nope 2>/dev/null
echo $?
----
printf 'a b\nc\n' | wc -l; printf 'a b\nc\n' | wc -w; printf 'é\n' | wc -c; printf 'é\n' | wc -m
wc -l < /dev/null; printf 'no newline' | wc -l
----
printf 'one\ntwo\nTHREE\n' > f; grep o f; grep -c o f; grep -i three f; grep -v o f; grep -n t f
grep -q one f; echo $?; grep -q xyz f; echo $?; grep nope nofile 2>/dev/null; echo $?
grep -l one f
grep -e one -e two f; grep -E 'o(n|w)' f; grep -F . f; echo $?; grep -o '[nw]' f; grep -x two f
grep -w on f; echo $?; cat f | grep '^t'; grep 'e$' f; grep -h one f f; grep one f f
grep -m 1 . f
----
mkdir d; echo hit > d/a; echo miss > d/b; grep -r hit d; grep -rl hit .; grep -rc i d | sort
echo 'a.b*c' | grep 'a\.b\*c'; echo aab | grep -E '^a{2}b$'; echo aab | grep '^a\{2\}b$'
echo 'a+b' | grep 'a+b'
echo ab | grep -E 'a+b|c'; echo 'x[y' | grep -F '[y'; printf 'a1\nb\n' | grep '[[:digit:]]'
echo abab | grep -E '(ab)\1'; echo 'a|b' | grep 'a|b'; printf 'ab\n\ncd\n' | grep -c '^$'
----
echo hello world | sed 's/o/0/'; echo hello world | sed 's/o/0/g'
echo a/b | sed 's|/|-|'; echo abc | sed 's/\(a\)\(b\)/\2\1/'; echo abc | sed -E 's/(a)(b)/\2\1/'
echo abc | sed 's/b/[&]/'; echo abc | sed 's/b/\&/'; echo 'a b' | sed 's/[^ ]*$/X/'
echo A | sed 's/a/b/I'
----
seq 5 | sed -n 2p; seq 5 | sed 2d; seq 5 | sed '2,3d'; seq 5 | sed -n '/2/,/4/p'; seq 5 | sed '$d'
seq 5 | sed -n '$p'; seq 5 | sed '2,3!d'; seq 5 | sed 3q; seq 3 | sed -e s/1/a/ -e s/2/b/
seq 3 | sed -n '2{s/2/x/;p}'
seq 3 | sed '2s/$/ end/;s/^/> /'; echo abc | sed y/abc/xyz/; seq 2 | sed =
----
echo old > f; sed -i s/old/new/ f; cat f; seq 3 | sed '2a\
after'; seq 3 | sed '2i\
before'; seq 3 | sed '2c\
changed'; printf 'a\nb' | sed s/b/c/; seq 5 | sed -n '2,+1p' 2>/dev/null || true
----
printf 'a:b:c\nd:e:f\nplain\n' > f; cut -d: -f2 f; cut -d: -f2- f; cut -c1-2 f
head -n 2 f | cut -d: -f1,3; cut -b2 f; printf 'a\tb\n' | cut -f2; cut -d: -f-2 f
----
printf 'b\na\nC\n10\n9\nb\n' > f; sort f; sort -r f; sort -n f; sort -u f; sort -f f; sort -rn f
printf 'x 3\ny 1\nz 2\n' | sort -k2; printf 'x:3\ny:10\n' | sort -t: -k2 -n
sort f | uniq -c | sed 's/^ *//'
sort f | uniq -d; sort f | uniq -u; printf 'a\nA\n' | uniq -i; sort -o f f; head -n 1 f
----
seq 3; seq 2 4; seq 1 2 7; seq 5 -2 1; seq -s, 3; seq 0.5 0.5 2; seq -w 8 10; seq 3 1
----
cp /dev/null a; printf 'abc' > a; printf 'abd' > b; cmp a b > /dev/null; echo $?; cmp a a; echo $?
cmp -s a b; echo $?
----
printf hello | base64; printf aGVsbG8= | base64 -d; echo; head -c 100 /dev/zero | base64
printf hi | md5sum
printf hi | sha1sum; printf hi > f; sha256sum f; sha256sum f > s; sha256sum -c s; sha512sum < f
echo ! | base64 -d 2>/dev/null; echo $?
----
printf '%s\n' a b c | xargs; printf 'a b\0c' | xargs -0 -n1 echo
seq 5 | xargs -n2
----
echo 'x=1;y' | cut -d';' -f1 | cut -d= -f2; ls | wc -l
printf 'b 2\na 1\n' | sort | head -1 | cut -d' ' -f2
printf 'k: v\n' | sed -n 's/^k: //p'
"""


@pytest.mark.parametrize("script", scripts(SAME_AS_TOYBOX))
async def test_lines_come_out_as_from_toybox(guest: Guest, script: str) -> None:
    await check(guest, script)


async def test_xxd_writes_and_reads_back(guest: Guest) -> None:
    answer = await guest.sh("printf 'hello world, hi!x' > f; xxd f; xxd -p f; xxd f | xxd -r")
    assert answer.out == (
        "00000000: 6865 6c6c 6f20 776f 726c 642c 2068 6921  hello world, hi!\n"
        "00000010: 78                                       x\n"
        "68656c6c6f20776f726c642c2068692178\n"
        "hello world, hi!x"
    )


@pytest.mark.parametrize(
    ("script", "code"),
    [("grep '[' f", 2), ("grep -E '(' f", 2), ("sed 's/a' f", 1), ("sed k f", 1), ("tr", 1),
     ("head -n x f", 1), ("cut f", 1), ("sort -k x f", 1), ("awk 1 f", 127), ("seq x", 1),
     ("cut -f 0 f", 1), ("sed '{' f", 1), ("tail -n", 1)],
)  # fmt: skip
async def test_bad_usage_is_one_error(guest: Guest, script: str, code: int) -> None:
    answer = await guest.sh(f"echo a > f; {script}")
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.count("\n") == 1


@given(st.text(st.sampled_from(r"ab.*+?()[]{}|^$\1,-:"), max_size=12), st.booleans())
def test_any_expression_compiles_or_is_refused(source: str, extended: bool) -> None:
    try:
        compiled(source, extended=extended).search("aab")
    except BadExpression:
        return


@pytest.mark.parametrize(
    "script",
    ["grep a", "sed s/a/b/", "tr a b", "sort", "uniq", "cut -c1-3", "head -n 1", "tail -n 1", "wc",
     "base64 | base64 -d", "gzip | gunzip", "xargs echo", "cut -d: -f1"],
)  # fmt: skip
async def test_a_line_of_megabytes_is_one_line(guest: Guest, script: str) -> None:
    code, out, err = await guest.raw(f"{script} | wc -c", stdin=b"a" * (3 << 20) + b"\n")
    assert (code, err) == (0, b"")
    assert int(out) > 0


@pytest.mark.parametrize(
    "script",
    [
        "echo {long} | sed -E 's/(a|a)*[bc]$/x/'; echo $?",
        "case {long} in *a*a*a*a*a*a*a*a*a*a*a*a*[bc]) ;; esac; echo $?",
        "( x={long}; echo ${{x##*a*a*a*a*a*a*a*a*a*a*a*a*[bc]}} ); echo $?",
    ],
)
async def test_an_expression_that_backtracks_without_end_is_given_up(
    guest: Guest, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simphone.expression.PATIENCE_S", 0.2)
    answer = await guest.sh(script.format(long="b" + "a" * 2000))
    assert answer.out == "1\n"
    assert "regular expression takes too long" in answer.err


async def test_grep_that_gives_up_does_not_say_that_nothing_matches(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expression, "PATIENCE_S", 0.05)
    script = f"echo {'a' * 60}b | grep -E '(a|aa)+$'"
    assert await guest.sh(script) == Answer(2, "", "grep: regular expression takes too long\n")
