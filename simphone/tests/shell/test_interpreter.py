"""The phone's shell does what mksh does, and ends whatever it started."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simphone.faults.seam import Faults
from simphone.processes import SHELL
from simphone.shell.interpreter import run_script
from simphone.streams import Collected, Fixed, Pipe
from tests.guest import Guest
from tests.reference import check, scripts


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    return Guest(tmp_path / "guest")


# Whatever mksh answers to these, the phone's shell answers too.
SAME_AS_MKSH = r"""
echo a   b; echo 'a   b'; echo "a   b"
----
x='a  b'; echo $x; echo "$x"; echo ${x}c ${#x}
----
echo ${u-d} ${u:-d} ${u:=e} $u ${u+set} ${n:+set}; e=; echo "[${e-d}]" "[${e:-d}]"
----
p=/a/b/c.tar.gz; echo ${p#*/} ${p##*/} ${p%.*} ${p%%.*} ${p%/*}
----
echo $((1+2*3)) $((7/2)) $((-7/2)) $((7%3)) $((1<<4)) $((5>3&&2>1)) $((!0)) $((~5))
----
x=5; echo $((x+1)) $(($x*2)) $((x=7)) $x $(( (1+2)*3 )) $((0x10)) $((1?2:3))
----
for i in 1 2 3; do echo $i; done; for w in a\ b 'c d'; do echo "<$w>"; done
----
i=0; while [ $i -lt 5 ]; do i=$((i+1)); [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done
----
i=3; until [ $i -eq 0 ]; do echo $i; i=$((i-1)); done; echo $?
----
if false; then echo a; elif true; then echo b; else echo c; fi; if false; then :; fi; echo $?
----
case abc in x) echo x;; a*|b) echo ab;; *) echo other;; esac; case a in b) ;; esac; echo $?
----
case '*' in '*') echo star;; esac; case a in '*') echo no;; [!b-z]) echo yes;; esac
----
f() { echo "$1-$#"; return 3; }; f x y; echo $?; g() { f "$@"; }; g 'p q'
----
set -- a 'b c' d; echo $# $1 "$2"; shift; echo $*; for a; do echo "<$a>"; done; echo "$@"
----
set --; for a in "$@"; do echo no; done; set -- ''; for a in "$@"; do echo "<$a>"; done
----
true && echo a || echo b; false && echo a || echo b; ! true; echo $?; ! false; echo $?
----
(x=1; echo $x); echo "[$x]"; { y=2; }; echo $y; (exit 3); echo $?
----
echo a | cat | sed s/a/b/; printf 'x\ny\n' | while read l; do echo "<$l>"; done
----
echo one >f; echo two >>f; cat <f; cat f f | wc -l; >f; cat f; echo $?
----
echo out; echo err >&2; { echo a; echo b >&2; } 2>&1 | sort; cat nofile 2>/dev/null || echo no
----
cat <<E
$((1+1)) `echo t` \$x
E
cat <<'E'
$x `a`
E
cat <<-E
	in
	E
----
touch a1 a2 b1 .h; echo *; echo a?; echo [ab]1; echo 'a'*; echo "a*"; echo z*; echo .h*
----
mkdir d; touch d/x d/y; echo d/*; echo */x; cd d; echo *; cd ..; echo ./d/[!x]
----
x='a b'; y=$x; echo "$y"; z=$(echo '1  2'); echo $z; echo "$z"; echo `echo \`echo in\``
----
echo $(false) $?; x=$(exit 4); echo $?; echo "$(printf 'a\n\n\n')"end
----
IFS=:; x=a:b::c; for i in $x; do echo "<$i>"; done; set -- 1 2; echo "$*"
----
IFS=': '; x=' a : b:c  d '; for i in $x; do echo "<$i>"; done
----
echo 'a b  c' | { read x y; echo "$x|$y"; }; echo a:b:c | { IFS=: read x y; echo "$x|$y"; }
----
printf 'a\\b\n' | { read x; echo "$x"; }; printf 'a\\b\n' | { read -r x; printf '%s\n' "$x"; }
----
printf '%s-%s\n' a b c; printf '%d %5d|%-5d|%05d\n' 1 2 3 4; printf '%x %o %c %%\n' 255 8 abc
----
printf '%s' 'a\nb'; printf '%b' 'a\nb\n'; printf 'a\tb\101\n'; printf '%.2s|%5s|\n' abc x
----
test -n a && echo 1; test -z a || echo 2; [ a = a ] && echo 3; [ 2 -gt 10 ] || echo 4
[ ! -e x ] && echo 5
----
touch f; mkdir d; [ -f f ] && [ -d d ] && [ ! -f d ] && echo ok; [ -s f ] || echo empty; [ ]
echo $?
----
[ a = b -o c = c ] && echo or; [ a = a -a b = c ] || echo and; [ \( a = a \) ] && echo paren
[ ! a ]; echo $?
----
a=1; export a; sh -c 'echo $a'; b=2; sh -c 'echo [$b]'; c=3 sh -c 'echo $c'; echo [$c]
----
sh -c 'echo $0 $1 $#' zero one two; sh -c 'exit 9'; echo $?; echo 'echo from stdin' | sh
----
printf 'echo $1; exit 5\n' > s.sh; sh s.sh arg; echo $?; . ./s.sh
----
eval 'x=1; echo $x'; c='echo a b'; $c; eval "$c"; eval; echo $?
----
set -e; false || true; if false; then :; fi; echo on; false; echo never
----
x=1; unset x; echo [$x]; x=a; x=b env >/dev/null; echo $x; exit 6; echo never
----
echo 'single "in"' "double 'in'" a\ b \$x "\$x \\ \a"; echo a#b # comment
# all
echo c
----
echo a; exec 3>f; echo three >&3; exec 3>&-; cat f; exec >g; echo hid; exec >/dev/stderr; cat g
----
echo ~ | grep -c /; x=~/f; echo "~"; echo a=~
----
sleep 0 & wait $!; echo $?; (exit 3) & wait $!; echo $?; true & wait; echo $?
----
nosuchprogram 2>/dev/null; echo $?; ./nofile 2>/dev/null; echo $?
cd /nowhere 2>/dev/null || echo failed
----
echo '#!/bin/sh
echo run $1' >r; ./r 2>/dev/null; echo $?; chmod +x r; ./r it; mkdir dd; ./dd 2>/dev/null; echo $?
----
while read a b; do echo "$b $a"; done <<E
1 2
3 4 5
E
for i in 1 2; do for j in a b; do [ $j = b ] && continue 2; echo $i$j; done; done
----
yes | head -n 3; seq 3 | sort -r; echo x | (cat; echo y) | sort -r; true | false; echo $?
----
x=$(cat <<E
in $((2*3))
E
); echo "$x"; echo "${x#in }"; echo "a${nothing:+b}c"
----
a='x*'; touch x1 x2; echo $a "$a"; set -f; echo $a; set +f; echo ${a%\*} ${a%'*'}
----
cd d 2>/dev/null; mkdir -p p/q; cd p/q; cd ..; basename $(pwd); cd - >/dev/null; basename $(pwd)
----
echo ${#} ${1:-none}; set -- 1 2 3 4 5 6 7 8 9 ten; echo ${10} $10
echo "${@}" | wc -w
"""


@pytest.mark.parametrize("script", scripts(SAME_AS_MKSH))
async def test_a_script_answers_as_in_mksh(guest: Guest, script: str) -> None:
    await check(guest, script)


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_quoted_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    async def said() -> str:
        guest = Guest(tmp_path_factory.mktemp("quoting") / "guest")
        return (await guest.sh(f"printf %s {shlex.quote(text)}")).out

    assert asyncio.run(said()) == text


MKSH = [
    ("foo", 127, "", "/system/bin/sh: foo: inaccessible or not found\n"),
    ("/data/local/tmp", 126, "",
     "/system/bin/sh: /data/local/tmp: can't execute: Is a directory\n"),
    ("fi", 1, "", "/system/bin/sh: syntax error: unexpected 'fi'\n"),
    ("echo 'a", 1, "", "/system/bin/sh: no closing quote\n"),
    ("echo x > /system/x", 1, "",
     "/system/bin/sh: can't create /system/x: Read-only file system\n"),
    ("cat < /nope", 1, "", "/system/bin/sh: can't open /nope: No such file or directory\n"),
    ("cd /nope", 2, "", "/system/bin/sh: cd: /nope: No such file or directory\n"),
    ("echo $((2147483647+1))", 0, "-2147483648\n", ""),
    ("echo $((1/0)); echo never", 1, "", "/system/bin/sh: divide by zero\n"),
    ("echo ${x?gone}; echo never", 1, "", "/system/bin/sh: x: gone\n"),
    ("x=abcdef; echo ${x:1:3} ${x: -2} ${x/c/X} ${x//[bd]/-}", 0, "bcd ef abXdef a-c-ef\n", ""),
    ("[[ abc == a* && ! -e /nope ]] && [[ 'a' < b || x ]] && echo y", 0, "y\n", ""),
    ("[[ abc == 'a*' ]]; echo $?; [[ $unset == '' ]]; echo $?", 0, "1\n0\n", ""),
    ("cat <<< 'a  b'; echo $'x\\ty\\x41'", 0, "a  b\nx\tyA\n", ""),
    ("{ echo o; echo e >&2; } &> f; cat f; x=1; x+=2; echo $x", 0, "o\ne\n12\n", ""),
    ("type cd ls; command -v ls cd; which ls", 0,
     "cd is a shell builtin\nls is /system/bin/ls\n/system/bin/ls\ncd\n/system/bin/ls\n", ""),
    ("f() { local x=in; echo $x; }; x=out; f; echo $x", 0, "in\nout\n", ""),
    ("timeout 0.05 sleep 10; echo $?; timeout 5 echo in", 0, "124\nin\n", ""),
    ("sleep 10 & kill $!; wait $!; echo $?; sleep 9 & kill -9 $!; wait $!; echo $?",
     0, "143\n137\n", ""),
    ("sh -c 'kill -9 $$; echo never'; echo $?", 0, "137\n", ""),
    ("echo 1 2 3|xargs -n 2 echo x; false | xargs false; echo $?",
     0, "x 1 2\nx 3\n123\n", ""),
    ("env -i A=1 env; A=2 env | grep ^A=2; env | grep ^A=; echo $?", 0, "A=1\nA=2\n1\n", ""),
    ("su 0 id -u; su root sh -c 'id -u'; echo id -u|su; su shell whoami",
     0, "0\n0\n0\nshell\n", ""),
    ("su 2000,1015 sh -c 'id -u; echo $USER'", 0, "2000\nshell\n", ""),
    ("su -c id", 1, "", "su: invalid uid/gid '-c'\n"),
    ("run-as com.none ls", 1, "", "run-as: unknown package: com.none\n"),
    ("toybox echo a; nohup echo b; setsid echo c", 0, "a\nb\nc\n", ""),
    ("env nope", 127, "", "env: exec nope: No such file or directory\n"),
    ("/system/bin/echo a; /bin/echo b; /system/xbin/nope", 127, "a\nb\n",
     "/system/bin/sh: /system/xbin/nope: inaccessible or not found\n"),
    ("set -x; echo a b", 0, "a b\n", "+ echo a b\n"),
    ("f='eval \"$f\"'; eval \"$f\"", 1, "", "/system/bin/sh: recursion too deep\n"),
    ("r() { r; }; r", 1, "", "/system/bin/sh: recursion too deep\n"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "code", "out", "err"), MKSH)
async def test_a_script_answers_as_on_android(
    guest: Guest, script: str, code: int, out: str, err: str
) -> None:
    answer = await guest.sh(script)
    assert (answer.code, answer.out, answer.err) == (code, out, err)


async def test_a_script_on_the_shared_storage_does_not_execute(guest: Guest) -> None:
    answer = await guest.sh(
        "mkdir -p /sdcard; echo 'echo a' > /sdcard/s; chmod 755 /sdcard/s; /sdcard/s"
    )
    assert answer.code == 126
    assert answer.err == "/system/bin/sh: /sdcard/s: can't execute: Permission denied\n"
    assert (await guest.sh("sh /sdcard/s")).out == "a\n"


async def test_scripts_that_start_themselves_run_out_of_processes(guest: Guest) -> None:
    answer = await guest.sh("echo 'sh /data/local/tmp/s' > s; sh s")
    assert answer.code != 0
    assert "can't fork - try again" in answer.err
    assert guest.world.processes.running() == 0


@pytest.mark.parametrize(
    "script",
    ["while true; do :; done", "until false; do x=$(echo a); done", "yes > /dev/null",
     "sleep 100 | cat", "(sleep 100; echo) | (sleep 100)", "cat", "sleep 100 & sleep 99 & wait",
     "x=$(sleep 100)", "cat /dev/zero > /dev/null", "sh -c 'while :; do :; done'",
     "find / -exec sleep 9 \\;"],
)  # fmt: skip
async def test_a_cancelled_shell_leaves_no_process_and_starves_nobody(
    guest: Guest, script: str
) -> None:
    keyboard, out = Pipe(), Collected()
    before = len(asyncio.all_tasks())
    running = asyncio.create_task(
        run_script(guest.world, script, stdin=keyboard, stdout=out, stderr=out)
    )
    for _ in range(50):
        await asyncio.sleep(0)
    assert not running.done()
    running.cancel()
    await asyncio.wait([running], timeout=60)
    assert running.cancelled()
    assert guest.world.processes.running() == 0
    assert len(asyncio.all_tasks()) == before


async def test_background_jobs_end_with_their_shell(guest: Guest) -> None:
    answer = await guest.sh("sleep 100 & (sleep 101 &) ; sh -c 'sleep 102 &' ; echo over")
    assert (answer.code, answer.out) == (0, "over\n")
    assert guest.world.processes.running() == 0


async def test_a_shell_whose_reader_left_ends(guest: Guest) -> None:
    class Left:
        async def write(self, data: bytes) -> None:
            raise BrokenPipeError

    running = run_script(guest.world, "yes", stdin=Fixed(), stdout=Left(), stderr=Left())
    assert await asyncio.wait_for(running, 60) == 141
    running = run_script(guest.world, "echo a; foo", stdin=Fixed(), stdout=Left(), stderr=Left())
    assert await asyncio.wait_for(running, 60) == 141


async def test_commands_come_from_stdin_one_by_one(guest: Guest) -> None:
    script = (
        b'read x\nthis is input\necho "<$x>"\nif true\nthen echo in\nfi\n'
        b"cat <<E\nhere\nE\nexit 4\necho never\n"
    )
    assert await guest.raw("", stdin=script, interactive=True) == (
        4,
        b"<this is input>\nin\nhere\n",
        b"",
    )


async def test_a_terminal_gets_a_prompt(guest: Guest) -> None:
    code, out, err = await guest.raw("", stdin=b"cd /data\nfalse\n)\n", interactive=True, tty=True)
    assert (code, out) == (1, b"")
    assert err == (
        b"emu64xa:/ $ emu64xa:/data $ 1|emu64xa:/data $ "
        b"/system/bin/sh: syntax error: unexpected ')'\n1|emu64xa:/data $ "
    )
    _, _, root = await guest.raw("", interactive=True, tty=True, root=True)
    assert root == b"emu64xa:/ # "


async def test_an_interrupt_ends_the_command_not_the_shell(guest: Guest) -> None:
    keyboard, out, pressed = Pipe(), Pipe(), asyncio.Event()
    running = asyncio.create_task(
        run_script(guest.world, "", stdin=keyboard, stdout=out, stderr=Collected(),
                   interactive=True, interrupts=pressed)
    )  # fmt: skip
    await keyboard.write(b"echo up; sleep 100; echo never\n")
    assert await out.read() == b"up\n"
    pressed.set()
    await keyboard.write(b"echo $?; exit 3\n")
    assert await out.read() == b"130\n"
    assert await asyncio.wait_for(running, 60) == 3


async def test_ten_megabytes_on_one_line_pass(guest: Guest) -> None:
    line = b"a" * (10 << 20)
    script = "cat | tr a b | wc -c | tr -d ' '; echo x | cat"
    assert (await guest.raw(script, stdin=line)) == (0, b"%d\nx\n" % len(line), b"")
    code, out, _ = await guest.raw("read x; echo ${#x}; y=${x%a}; echo ${#y}", stdin=line + b"\n")
    assert (code, out) == (0, b"%d\n%d\n" % (len(line), len(line) - 1))


@pytest.mark.parametrize("script", [
    "x=a; for i in $(seq 40); do x=$x$x; done",
    "x=aaaaaaaaaaaaaaaa; for i in $(seq 9); do x=${x//a/$x}; done",
    "x=$(yes)",
    "x=$(head -c 15000000 /dev/zero | tr '\\0' a); y=${x}b; z=${x}c",
    "x=$(head -c 9000000 /dev/zero | tr '\\0' a); f() { local y=${x}$1; f $1$1; }; f z",
])  # fmt: skip
async def test_a_value_has_an_end(guest: Guest, script: str) -> None:
    code, out, err = await guest.raw(f"{script}; echo never")
    assert (code, out) == (1, b"")
    assert err.endswith(b": out of memory\n")


async def test_arguments_are_bounded_together(guest: Guest) -> None:
    script = "x=$(head -c 9000000 /dev/zero | tr '\\0' a); echo $x $x"
    code, out, err = await guest.raw(script)
    assert (code, out, err) == (1, b"", b"/system/bin/sh: argument list too long\n")


async def test_a_long_script_and_a_long_line_of_commands_are_errors(guest: Guest) -> None:
    code, _, err = await guest.raw("echo " + "a" * (2 << 20))
    assert (code, err) == (1, b"/system/bin/sh: script too long\n")
    code, _, _ = await guest.raw("", stdin=b"x" * (3 << 20), interactive=True)
    assert code == 1


async def test_a_fault_can_be_planted_before_any_program(guest: Guest) -> None:
    def swap(argv: list[str]) -> list[str]:
        return [*argv, "planted"]

    guest.world.faults = Faults({"program": swap})
    assert (await guest.sh("/system/bin/echo a")).out == "a planted\n"


async def test_programs_are_in_the_process_table_while_they_run(guest: Guest) -> None:
    answer = await guest.sh("ps -o USER,NAME; pidof sh | grep -cw $$")
    head = f"USER         {'NAME':27}"
    assert answer.out == f"{head}\nshell        sh\nshell        ps\n1\n"
    assert all(process.uid != SHELL for process in guest.world.processes.all())
