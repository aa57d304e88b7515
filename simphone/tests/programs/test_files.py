"""File programs do to the guest's tree what toybox's do, and never leave it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simphone.adbd import guest_files
from simphone.disk import Disk
from simphone.processes import ROOT
from tests.guest import Guest
from tests.reference import check, scripts


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    return Guest(tmp_path / "guest")


SAME_AS_TOYBOX = r"""
echo a > f; cat f f - < f; cat nope 2>/dev/null; echo $?; cat f nope 2>/dev/null
----
mkdir d; mkdir d 2>/dev/null; echo $?; mkdir -p d/e/f d/e; ls d; rmdir d 2>/dev/null; echo $?
rmdir d/e/f; ls d/e; mkdir x/y 2>/dev/null; echo $?
----
echo a > f; cp f g; cat g; mkdir d; cp f g d; ls d; cp d e 2>/dev/null; echo $?; cp -r d e; ls e
cp -r d e; ls e; cp nope x 2>/dev/null; echo $?; cp f f 2>/dev/null; echo $?
----
echo a > f; mv f g; ls; mkdir d; mv g d; ls d; mv d e; ls e; mv nope x 2>/dev/null; echo $?
echo 1 > p; echo 2 > q; mv p q; cat q; mv e e/in 2>/dev/null; echo $?; ls
----
touch f; rm f; rm f 2>/dev/null; echo $?; rm -f f; echo $?; mkdir d; touch d/x; rm d 2>/dev/null
echo $?; rm -r d; ls; rm -rf d; echo $?; ln -s . l; rm -r l; ls
----
touch a; ln -s a l; cat l; readlink l; ls l; ln -s nowhere m; cat m 2>/dev/null; echo $?
readlink m
[ -L m ] && [ ! -e m ] && echo dangling; ln a h; echo x > a; cat h; ln -s a l 2>/dev/null; echo $?
ln -sf h l; readlink l; readlink a; echo $?
----
echo 123 > f; stat -c '%s %a %F %n' f; chmod 600 f; stat -c %a f; chmod u+x,g=r f; stat -c %a f
chmod a-x f; stat -c '%a %A' f; chmod -R 700 .; stat -c %a f; chmod 9 f 2>/dev/null; echo $?
----
basename /a/b/c.txt; basename /a/b/c.txt .txt; basename /; basename a/; dirname /a/b; dirname a
dirname /; dirname a/b/; dirname //a
----
mkdir -p a/b c; touch a/x.txt a/b/y.txt c/z; find . | sort; find . -name '*.txt' | sort
find . -type d | sort; find a -maxdepth 1 | sort; find . -type f -name '?' ; find nope 2>/dev/null
echo $?; find . -name z -exec echo got {} \; ; find . -type f -exec echo {} + | wc -w
find . -name x.txt -exec rm {} \; ; find . -type f | sort; find . ! -type d -o -name c | sort
----
printf 12345 > f; find . -size +4c -type f; find . -empty; truncate -s 3 f; cat f
truncate -s 5 f; wc -c < f; truncate -s -1 f; wc -c < f
----
echo a | tee x y; cat x y; echo b | tee -a x; cat x; mkdir d; cd d; echo c > ../e; cat ../e ./../e
----
echo bad | gunzip 2>/dev/null; echo $?
----
mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b; ln -s a d/l; tar cf t.tar d; tar tf t.tar | sort
mkdir o
tar xf t.tar -C o; cat o/d/a o/d/e/b o/d/l; tar xf nope 2>/dev/null && echo no; true
----
touch -d @86400 f; stat -c %Y f; touch g; [ g -nt f ] && echo newer; touch -c no; ls; cmp f g
echo $?
"""


@pytest.mark.parametrize("script", scripts(SAME_AS_TOYBOX))
async def test_files_fare_as_with_toybox(guest: Guest, script: str) -> None:
    await check(guest, script)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("cat /x", "cat: /x: No such file or directory"),
        ("cat /data/data/a/b", "cat: /data/data/a/b: Permission denied"),
        ("cat /sdcard", "cat: /sdcard: Is a directory"),
        ("ls /x", "ls: /x: No such file or directory"),
        ("ls /data", "ls: /data: Permission denied"),
        ("ls /data/system", "ls: /data/system: Permission denied"),
        ("rm /system/bin/ls", "rm: /system/bin/ls: Read-only file system"),
        ("rm nope", "rm: nope: No such file or directory"),
        ("mkdir /sdcard", "mkdir: '/sdcard': File exists"),
        ("mkdir /x", "mkdir: '/x': Read-only file system"),
        ("mkdir a/b", "mkdir: 'a/b': No such file or directory"),
        ("touch /data/x", "touch: '/data/x': Permission denied"),
        ("rmdir /sdcard/nope", "rmdir: /sdcard/nope: No such file or directory"),
        ("stat /x", "stat: '/x': No such file or directory"),
        ("chown root .", "chown: '.': Operation not permitted"),
        ("ls -y", "ls: Unknown option 'y' (see \"ls --help\")"),
        ("cat " + "a" * 300, "cat: " + "a" * 300 + ": File name too long"),
        ("ln -s x x; cat x", "cat: x: Symbolic link loop"),
        ("echo a > /dev/full", "echo: /dev/full: No space left on device"),
    ],
)
async def test_failures_are_told_in_toyboxs_words(guest: Guest, script: str, error: str) -> None:
    answer = await guest.sh(f"mkdir -p /sdcard/Download; {script}")
    bionic = error.replace("Symbolic link loop", os.strerror(40))
    assert (answer.code, answer.err) == (1, bionic + "\n")


async def test_the_tree_looks_like_androids(guest: Guest) -> None:
    names = (await guest.sh("ls /")).out.split()
    assert {"data", "dev", "proc", "sdcard", "storage", "system", "vendor"} <= set(names)
    assert "sh" in (await guest.sh("ls /system/bin")).out.split()
    assert {"app", "data", "local"} <= set((await guest.sh("ls /data", root=True)).out.split())
    assert (await guest.sh("ls -l /sdcard")).out.endswith(" /sdcard -> /storage/self/primary\n")
    guest.world.disk.virtual["/proc/uptime"] = lambda: b"1.00 2.00\n"
    assert (await guest.sh("cat /proc/uptime; ls /proc")).out.startswith("1.00 2.00\ncmdline\n")


async def test_the_long_format_is_toyboxs(guest: Guest) -> None:
    answer = await guest.sh(
        "echo abc > f; touch -d @0 f; mkdir d; touch -d @0 d; chmod 755 d; ls -l"
    )
    assert answer.out.splitlines()[1:] == [
        "drwxr-xr-x 2 shell shell 4096 1970-01-01 00:00 d",
        "-rw-r--r-- 1 shell shell    4 1970-01-01 00:00 f",
    ]
    assert (await guest.sh("ls -a")).out == ".\n..\nd\nf\n"
    assert (await guest.sh("ls -R; ls -d .; ls -1 f d")).out == ".:\nd\nf\n\n./d:\n.\nf\n\nd:\n"


async def test_one_storage_has_many_names(guest: Guest) -> None:
    answer = await guest.sh(
        "echo a > /sdcard/f; cat /storage/emulated/0/f /mnt/sdcard/f /storage/self/primary/f; "
        "cd /sdcard; pwd; pwd -P; realpath f; echo b > f; cat /data/media/0/f"
    )
    assert answer.out == "a\na\na\n/sdcard\n/data/media/0\n/data/media/0/f\nb\n"


async def test_root_reads_what_the_shell_may_not(guest: Guest) -> None:
    guest.world.disk.own("/data/data/app/x").write_text("secret")
    assert (await guest.sh("cat /data/data/app/x")).code == 1
    assert (await guest.sh("su 0 cat /data/user/0/app/x")).out == "secret"
    assert (await guest.sh("cp /data/data/app/x . || echo kept")).out == "kept\n"


async def test_devices_are_there(guest: Guest) -> None:
    answer = await guest.sh(
        "cat /dev/null; head -c 3 /dev/zero | xxd -p; head -c 9 /dev/urandom | wc -c; "
        "echo a > /dev/null; echo b > /dev/stdout; echo c | cat /dev/stdin /proc/self/fd/0; "
        "echo d > /dev/tty; [ -c /dev/null ] && echo char"
    )
    assert answer.out == "000000\n9\nb\nc\nd\nchar\n"


async def test_a_large_file_passes_in_pieces(guest: Guest) -> None:
    data = os.urandom(6 << 20)
    digest = hashlib.sha256(data).hexdigest()
    script = "cat > /data/local/tmp/big; cat /data/local/tmp/big | sha256sum"
    assert await guest.raw(script, stdin=data) == (0, f"{digest}  -\n".encode(), b"")
    assert await guest.raw("cat /data/local/tmp/big") == (0, data, b"")


def escapes(root: Path) -> list[str]:
    """Anything the guest changed outside of its own tree."""
    return [path.name for path in root.iterdir() if path.name not in ("guest", "outside")]


HOSTILE = [
    "ln -s {outside} l; cat l/secret; echo pwned > l/new; rm -rf l/secret; cat l",
    "ln -s ../../../../../../../../../..{outside} l; cat l/secret; echo a > l/new; cp -r l m; ls m",
    "cat ../../../../../../../../../../..{outside}/secret; cat {outside}/secret; ls {outside}",
    "mkdir a; ln -s {outside} a/l; chmod -R 777 a; rm -rf a; find / -name secret; grep -r SECRET /",
    "ln -s {outside}/secret s; cp s t; mv s u; cat t u; sed -i s/SECRET/x/ u; tar cf - u | cat",
    "su 0 sh -c 'rm -rf /data/media; ln -s {outside} /data/media'; cat /sdcard/secret",
    "su 0 sh -c 'rm -rf /data/local; ln -s {outside} /data/local'; cat /data/local/*",
    "ln -s {outside} l; touch -d @5 l/secret; truncate -s 0 l/secret; dd if=l/secret; . l/secret",
    "ln -s {outside}/new n; echo a > n; mktemp -p n; mkdir n/d; ln secret n; gzip -c n",
]


@pytest.mark.parametrize("script", HOSTILE)
async def test_no_link_leads_out_of_the_tree(tmp_path: Path, script: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("SECRET")
    os.utime(secret, (1000, 1000))
    before = secret.stat()
    guest = Guest(tmp_path / "guest")
    answer = await guest.sh(script.format(outside=outside), root=True)
    assert "SECRET" not in answer.out
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert secret.read_text() == "SECRET"
    assert (secret.stat().st_mode, secret.stat().st_mtime) == (before.st_mode, before.st_mtime)
    assert escapes(tmp_path) == []


async def test_an_archive_unpacks_only_below_its_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    held = BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(outside)
        archive.addfile(link)
        for name in ("../up", "/abs", "link/through", "a/../../b"):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, BytesIO(b"x"))
    guest = Guest(tmp_path / "guest")
    (guest.home / "t.tar").write_bytes(held.getvalue())
    await guest.sh("mkdir o; tar xf t.tar -C o", root=True)
    assert list(outside.iterdir()) == []
    assert sorted(path.name for path in (guest.home / "o").iterdir()) == ["abs", "link"]
    assert escapes(tmp_path) == []


PARTS = st.sampled_from(["..", ".", "a", "l", "sdcard", "data", "local", "tmp", "storage", "0", ""])
PATHS = st.lists(PARTS, min_size=1, max_size=8).map("/".join) | st.text(min_size=1, max_size=20)


@example(path="a", target="a", cwd="/\0")
@example(path="\ud800", target="a", cwd="/")
@given(path=PATHS, target=PATHS, cwd=PATHS.map(lambda path: "/" + path))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
def test_any_path_stays_in_the_tree(
    tmp_path_factory: pytest.TempPathFactory, path: str, target: str, cwd: str
) -> None:
    root = tmp_path_factory.mktemp("tree")
    disk = Disk(root / "userdata", root / "system")
    place = disk.own("/data/local/tmp/l")
    try:
        os.symlink(target, place)
    except (OSError, ValueError):
        return  # not a target that a link can have
    for find in (disk.readable, disk.writable):
        try:
            host = find(path, ROOT, cwd)
        except OSError:
            continue
        assert Path(os.path.realpath(host.parent)).is_relative_to(os.path.realpath(root))


async def test_programs_that_run_on_a_loop_leave_time_for_others(guest: Guest) -> None:
    """A copy that never has to wait still lets another shell answer."""
    copying = asyncio.create_task(guest.sh("cat /dev/zero > /dev/null"))
    assert (await guest.sh("echo here")).out == "here\n"
    copying.cancel()
    await asyncio.wait([copying])


async def test_a_folder_stood_in_is_no_link_however_one_came_there(guest: Guest) -> None:
    guest.world.disk.own("/data/media/0/x")
    answer = await guest.sh("cd /sdcard; [ -L . ]; echo $?; stat -c %F .; ls -lad . /sdcard/.")
    assert answer.out.startswith("1\ndirectory\nd")
    assert "l" not in {line[0] for line in answer.out.splitlines()[2:]}
    listed = dict(guest_files.list_folder(guest.world.disk, "/sdcard", 2000))
    assert listed["."].is_dir
    assert listed[".."].is_dir
    assert (await guest.sh("[ -L /sdcard ] && stat -c %F /sdcard")).out == "symbolic link\n"
