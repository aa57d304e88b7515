"""Programs that make, copy and remove files."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import ExitStack

from ..disk import Entry, failure
from ..layout import number
from ..streams import Sink
from .call import Call
from .date import BadDate, understood
from .flags import BadUsage, BadValue, Flags, flags
from .opening import chunks, copy, reading, reason, writing

NO_FILE = os.strerror(errno.ENOENT)
MAX_TREE = 64  # folders inside each other


async def complain(call: Call, path: str, error: OSError, *, quoted: bool = False) -> int:
    """Says what is wrong with a file. A reader that left is nothing to do with files."""
    if isinstance(error, BrokenPipeError):
        raise error
    shown = f"'{path}'" if quoted else path
    return await call.fail(f"{call.name}: {shown}: {reason(error)}")


def entry(call: Call, path: str, *, follow: bool = True) -> Entry:
    return call.world.disk.entry(path, call.uid, call.cwd, follow=follow)


def blamed(call: Call, error: OSError, path: str) -> str:
    """The guest path an error is about; the host's own paths are nobody's business here."""
    about = error.filename
    hosts = (str(call.world.disk.userdata), str(call.world.disk.system))
    return about if isinstance(about, str) and not about.startswith(hosts) else path


def needs(rest: list[str], count: int = 1) -> None:
    if len(rest) < count:
        raise BadUsage(f"Needs {count} argument{'s' if count > 1 else ''}")


async def cat(call: Call) -> int:
    given = flags(call.args, "uvet")
    status = 0
    for path in given.rest or ["-"]:
        try:
            with reading(call, path) as source:
                if given.names & {"v", "e", "t"}:
                    async for chunk in chunks(source):
                        await call.out("".join(visible(byte, given) for byte in chunk))
                else:
                    await copy(source, call.stdout)
        except OSError as error:
            status = await complain(call, path, error)
    return status


def visible(byte: int, given: Flags) -> str:
    """A byte as `cat -v` shows it; -e marks line ends, -t tabs."""
    if byte == 10:
        return "$\n" if "e" in given else "\n"
    if byte == 9:
        return "^I" if "t" in given else "\t"
    high = "M-" if byte > 127 else ""
    byte &= 127
    return high + ("^?" if byte == 127 else f"^{chr(byte + 64)}" if byte < 32 else chr(byte))


async def tee(call: Call) -> int:
    given = flags(call.args, "ai")
    status = 0
    with ExitStack() as stack:
        sinks: list[Sink] = [call.stdout]
        for path in given.rest:
            try:
                sinks.append(stack.enter_context(writing(call, path, append="a" in given)))
            except OSError as error:
                status = await complain(call, path, error)
        async for chunk in chunks(call.stdin):
            for sink in sinks:
                await sink.write(chunk)
    return status


def into(call: Call, source: str, target: str) -> str:
    """Where a copy of `source` lands: in `target` where that is a folder."""
    try:
        folder = entry(call, target).is_dir
    except FileNotFoundError:
        return target
    name = os.path.basename(source.rstrip("/")) or "."
    return f"{target.rstrip('/')}/{name}" if folder else target


async def copy_tree(
    call: Call, source: str, target: str, *, recursive: bool, keep: bool, depth: int = 0
) -> int:
    if depth > MAX_TREE:
        raise failure(errno.ELOOP, source)
    # A link is copied as a link inside a tree, as what it names on the command line.
    seen = entry(call, source, follow=not (recursive and (depth or keep)))
    disk = call.world.disk
    if seen.is_dir:
        if not recursive:
            missing = "" if disk.exists(target, call.uid, call.cwd) else f": {NO_FILE}"
            return await call.fail(f"{call.name}: Skipped dir '{target}'{missing}")
        host = disk.writable(target, call.uid, call.cwd)
        if (disk.canonical(target, call.cwd) + "/").startswith(seen.path + "/"):
            return await call.fail(f"{call.name}: '{target}' is inside '{source}'")
        disk.need_room(target)
        host.mkdir(exist_ok=True)
        status = 0
        for name in disk.names(source, call.uid, call.cwd):
            status |= await copy_tree(
                call,
                f"{source}/{name}",
                f"{target}/{name}",
                recursive=True,
                keep=keep,
                depth=depth + 1,
            )
        return status
    if seen.is_link:
        host = disk.writable(target, call.uid, call.cwd, follow=False)
        host.unlink(missing_ok=True)
        host.symlink_to(seen.target)
        return 0
    if disk.exists(target, call.uid, call.cwd) and entry(call, target).path == seen.path:
        return await call.fail(f"{call.name}: '{source}' is '{target}'")
    with reading(call, source) as opened, writing(call, target) as sink:
        await copy(opened, sink)
    if seen.is_file and disk.canonical(target, call.cwd).startswith(("/data/", "/tmp/")):
        host = disk.writable(target, call.uid, call.cwd)
        host.chmod(stat.S_IMODE(seen.mode) | stat.S_IRUSR)
        if keep:
            os.utime(host, (seen.mtime, seen.mtime))
    return 0


async def cp(call: Call) -> int:
    given = flags(call.args, "rRapdfivnHLPT")
    *sources, target = _pair(given.rest)
    recursive, keep = bool({"r", "R", "a"} & given.names), bool({"a", "p"} & given.names)
    status = 0
    if len(sources) > 1 and not _is_folder(call, target):
        return await call.fail(f"cp: '{target}' not directory")
    for source in sources:
        try:
            landing = target if "T" in given else into(call, source, target)
            if "n" in given and call.world.disk.exists(landing, call.uid, call.cwd):
                continue
            if "v" in given and call.world.disk.exists(source, call.uid, call.cwd):
                await call.out(f"cp '{source}'\n")
            status |= await copy_tree(call, source, landing, recursive=recursive, keep=keep)
        except FileNotFoundError as error:
            about = blamed(call, error, source)
            bad = "bad " if about == source else ""
            status = await call.fail(f"cp: {bad}'{about}': {reason(error)}")
        except OSError as error:
            status = await complain(call, blamed(call, error, source), error, quoted=True)
    return status


def _pair(words: list[str]) -> list[str]:
    """What cp and mv need: one and more, and a place for them."""
    needs(words)
    if len(words) < 2:
        raise BadValue("Needs 2 arguments")
    return words


def _is_folder(call: Call, path: str) -> bool:
    try:
        return entry(call, path).is_dir
    except OSError:
        return False


async def mv(call: Call) -> int:
    given = flags(call.args, "fivnT")
    *sources, target = _pair(given.rest)
    disk = call.world.disk
    status = 0
    if len(sources) > 1 and not _is_folder(call, target):
        return await call.fail(f"mv: '{target}' not directory")
    for source in sources:
        try:
            seen = entry(call, source, follow=False)
            landing = target if "T" in given else into(call, source, target)
            if "n" in given and disk.exists(landing, call.uid, call.cwd):
                continue
            old = disk.writable(source, call.uid, call.cwd, follow=False)
            new = disk.writable(landing, call.uid, call.cwd, follow=False)
            inside = disk.canonical(landing, call.cwd, follow=False) + "/"
            if seen.is_dir and inside.startswith(seen.path + "/") and inside != seen.path + "/":
                raise failure(errno.EINVAL, source)
            os.replace(old, new)
        except OSError as error:
            status = await call.fail(f"mv: bad '{source}': {reason(error)}")
    return status


async def remove(call: Call, path: str, *, recursive: bool, depth: int = 0) -> None:
    disk = call.world.disk
    seen = entry(call, path, follow=False)
    host = disk.writable(path, call.uid, call.cwd, follow=False)
    if seen.is_dir:
        if not recursive:
            raise failure(errno.EISDIR, path)
        if depth > MAX_TREE:
            raise failure(errno.ELOOP, path)
        for name in os.listdir(host):
            await remove(call, f"{path.rstrip('/')}/{name}", recursive=True, depth=depth + 1)
        host.rmdir()
    else:
        host.unlink()


async def rm(call: Call) -> int:
    given = flags(call.args, "frRiv", {"force": "f", "recursive": "r"})
    if "f" not in given:
        needs(given.rest)
    status = 0
    for path in given.rest:
        if os.path.basename(path.rstrip("/")) in ("", ".", ".."):
            status = await call.fail(f"rm: bad path {path}")
            continue
        try:
            await remove(call, path, recursive=bool({"r", "R"} & given.names))
            if "v" in given:
                await call.out(f"rm '{path}'\n")
        except FileNotFoundError as error:
            if "f" not in given:
                status = await complain(call, path, error)
        except OSError as error:
            status = await complain(call, blamed(call, error, path), error)
    return status


async def mkdir(call: Call) -> int:
    given = flags(call.args, "pm:v", {"parents": "p"})
    needs(given.rest)
    status = 0
    for path in given.rest:
        try:
            make_folder(call, path, parents="p" in given, mode=int(given.value("m", "755"), 8))
            if "v" in given:
                await call.err(f"mkdir: created directory '{path}'\n")
        except (OSError, ValueError) as error:
            shown = reason(error) if isinstance(error, OSError) else "bad mode"
            status = await call.fail(f"mkdir: '{path}': {shown}")
    return status


def make_folder(call: Call, path: str, *, parents: bool, mode: int) -> None:
    disk = call.world.disk
    if disk.exists(path, call.uid, call.cwd, follow=True):
        if parents and entry(call, path).is_dir:
            return
        raise failure(errno.EEXIST, path)
    host = disk.writable(path, call.uid, call.cwd)
    disk.need_room(path)
    if parents:
        host.mkdir(parents=True, exist_ok=True)
    else:
        host.mkdir()
    host.chmod(mode | stat.S_IRWXU)


async def rmdir(call: Call) -> int:
    given = flags(call.args, "p")
    needs(given.rest)
    status = 0
    for named in given.rest:
        path = named
        while path:
            try:
                if not entry(call, path, follow=False).is_dir:
                    raise failure(errno.ENOTDIR, path)
                call.world.disk.writable(path, call.uid, call.cwd, follow=False).rmdir()
            except OSError as error:
                status = await complain(call, path, error)
                break
            path = os.path.dirname(path) if "p" in given else ""
    return status


def given_date(call: Call, text: str) -> float:
    try:
        return understood(text, call.world.clock.date())
    except BadDate:
        raise BadValue(f"bad date {text[:80]}") from None


async def touch(call: Call) -> int:
    given = flags(call.args, "acmhd:t:r:")
    needs(given.rest)
    when = call.world.clock.now()
    if "r" in given:
        when = entry(call, given.value("r")).mtime
    elif "d" in given:
        when = given_date(call, given.value("d"))
    elif "t" in given:
        # [[CC]YY]MMDDhhmm[.ss], which `date` takes in another order
        found = re.fullmatch(r"(\d\d|\d{4})?(\d{8})(\.\d\d)?", given.value("t"))
        year, day, second = found.groups() if found else ("", given.value("t"), "")
        when = given_date(call, day + (year or "") + (second or ""))
    status = 0
    for path in given.rest:
        try:
            if "c" in given and not call.world.disk.exists(path, call.uid, call.cwd):
                continue
            if not _is_folder(call, path):
                call.world.disk.create(path, call.uid, call.cwd, append=True).close()
            os.utime(call.world.disk.writable(path, call.uid, call.cwd), (when, when))
        except OSError as error:
            status = await complain(call, path, error, quoted=True)
    return status


CLAUSE = re.compile(r"([ugoa]*)([-+=])([rwxXst]*)")


def new_mode(spec: str, old: int) -> int:
    """The mode after `chmod spec`; ValueError where it is not one."""
    if re.fullmatch(r"[0-7]{1,4}", spec):
        return int(spec, 8)
    mode = old
    for clause in spec.split(","):
        found = CLAUSE.fullmatch(clause)
        if found is None:
            raise ValueError(spec)
        who, operator, what = found.groups()
        bits = sum({"r": 4, "w": 2, "x": 1}.get(letter, 0) for letter in set(what))
        if "X" in what and (old & 0o111 or stat.S_ISDIR(old)):
            bits |= 1
        letters = "ugo" if not who or "a" in who else who
        mask = sum(bits << {"u": 6, "g": 3, "o": 0}[letter] for letter in set(letters))
        every = sum(7 << {"u": 6, "g": 3, "o": 0}[letter] for letter in set(letters))
        mode = {"+": mode | mask, "-": mode & ~mask, "=": mode & ~every | mask}[operator]
    return stat.S_IMODE(mode)


async def chmod(call: Call) -> int:
    args = call.args
    options = set[str]()
    while args and re.fullmatch("-[Rvf]+", args[0]):
        options.update(args.pop(0)[1:])
    if len(args) < 2:
        raise BadUsage("Need 2 arguments")
    recursive = "R" in options
    status = 0
    for path in _expanded(call, args[1:], recursive=recursive):
        try:
            seen = entry(call, path)
            mode = new_mode(args[0], seen.mode)
            # The phone itself must be able to look at what the guest hid from itself.
            own = stat.S_IRWXU if seen.is_dir else stat.S_IRUSR
            call.world.disk.writable(path, call.uid, call.cwd).chmod(mode | own)
            if "v" in options:
                await call.out(f"chmod '{path}' to {args[0]}\n")
        except ValueError:
            return await call.fail(f"chmod: bad mode '{args[0]}'")
        except FileNotFoundError as error:
            status = await complain(call, path, error)
        except OSError as error:
            status = await call.fail(f"chmod: chmod '{path}' to {args[0]}: {reason(error)}")
    return status


def _expanded(call: Call, paths: list[str], *, recursive: bool) -> list[str]:
    found = list(paths)
    for path in found:
        if recursive and len(found) < 100_000 and entry(call, path, follow=False).is_dir:
            found += [f"{path}/{n}" for n in call.world.disk.names(path, call.uid, call.cwd)]
    return found


async def chown(call: Call) -> int:
    """Owners follow from the place of a file; root may say otherwise, and nothing changes."""
    given = flags(call.args, "RhfvHLP")
    needs(given.rest, 2)
    names = [name for name in re.split(r"[:.]", given.rest[0]) if name]
    status = 0
    for name in names:
        if number(name) is None:
            return await call.fail(f"{call.name}: bad user '{name}'")
    for path in given.rest[1:]:
        try:
            entry(call, path)
            if call.uid != 0:
                raise failure(errno.EPERM, path)
            call.world.disk.writable(path, call.uid, call.cwd)
        except OSError as error:
            status = await complain(call, path, error, quoted=True)
    return status


async def ln(call: Call) -> int:
    given = flags(call.args, "sfnvT")
    needs(given.rest)
    disk = call.world.disk
    *targets, name = given.rest if len(given.rest) > 1 else [given.rest[0], "."]
    status = 0
    for target in targets:
        landing = name if given.names & {"n", "T"} else into(call, target, name)
        try:
            if landing.endswith("/"):
                raise failure(errno.ENOENT, landing)
            host = disk.writable(landing, call.uid, call.cwd, follow=False)
            if "f" in given and not _is_folder(call, landing):
                host.unlink(missing_ok=True)
            if "s" in given:
                os.symlink(target, host)
            else:
                os.link(disk.writable(target, call.uid, call.cwd), host, follow_symlinks=False)
        except OSError as error:
            kind = "symbolic" if "s" in given else "hard"
            text = f"cannot create {kind} link from '{target}' to '{landing}'"
            status = await call.fail(f"ln: {text}: {reason(error)}")
    return status


PROGRAMS = {
    "cat": cat,
    "tee": tee,
    "cp": cp,
    "mv": mv,
    "rm": rm,
    "mkdir": mkdir,
    "rmdir": rmdir,
    "touch": touch,
    "chmod": chmod,
    "chown": chown,
    "ln": ln,
}
