"""Programs that show what is on the disk: ls, stat, du, df."""

from __future__ import annotations

import stat
from datetime import UTC, datetime

from ..disk import Entry
from ..layout import user
from .call import Call
from .files import complain, entry, needs
from .flags import Flags, flags

MAX_DEPTH = 64
# The emulator's default data partition, in KiB.
DATA_BLOCKS = 6082144
SYSTEM_BLOCKS = 864272


def stamp(seconds: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return datetime.fromtimestamp(max(0.0, min(seconds, 4e9)), UTC).strftime(form)


def human(size: int) -> str:
    """toybox's human_readable: three digits and a unit."""
    if size < 1000:
        return str(size)
    value = float(size)
    for unit in "KMGTP":
        value /= 1024
        if value < 999.5:
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{value:.0f}P"


async def ls(call: Call) -> int:
    given = flags(call.args, "1ACFHLRSZacdfghiklmnopqrstux", {"color": "x", "all": "a"})
    status = 0
    files: list[tuple[str, Entry]] = []
    folders: list[str] = []
    paths = given.rest or ["."]
    for path in paths:
        try:
            seen = entry(call, path, follow=True if "L" in given else not _keeps_link(given))
        except FileNotFoundError as error:
            try:
                seen = entry(call, path, follow=False)  # a link that leads nowhere
            except OSError:
                status = await complain(call, path, error)
                continue
        except OSError as error:
            status = await complain(call, path, error)
            continue
        if seen.is_dir and "d" not in given:
            folders.append(path)
        else:
            files.append((path, seen))
    if files:
        await _show(call, given, files)
    headed = "R" in given or len(files) + len(folders) > 1
    for index, path in enumerate(folders):
        lead = "\n" if index or files else ""
        status |= await _folder(call, given, path, lead, headed=headed, depth=0)
    return status


def _keeps_link(given: Flags) -> bool:
    """`ls -l link` shows the link, `ls link` what it leads to."""
    return bool(given.names & {"l", "d", "o", "g", "n"})


async def _folder(
    call: Call, given: Flags, path: str, lead: str, *, headed: bool, depth: int
) -> int:
    disk = call.world.disk
    try:
        names = disk.names(path, call.uid, call.cwd)
    except OSError as error:
        return await complain(call, path, error)
    if headed:
        await call.out(f"{lead}{path}:\n")
    if given.names & {"a", "f"}:
        names = [".", "..", *names]
    elif "A" not in given:
        names = [name for name in names if not name.startswith(".")]
    status = 0
    found: list[tuple[str, Entry]] = []
    for name in names:
        inner = f"{path.rstrip('/')}/{name}"
        try:
            found.append((name, entry(call, inner, follow="L" in given)))
        except OSError as error:
            status = await complain(call, inner, error)
    if given.names & {"l", "s", "o", "g", "n"}:
        await call.out(f"total {sum(seen.blocks for _, seen in found) // 2}\n")
    await _show(call, given, found)
    if "R" in given and depth < MAX_DEPTH:
        for name, seen in found:
            if seen.is_dir and name not in (".", ".."):
                inner = f"{path.rstrip('/')}/{name}"
                status |= await _folder(call, given, inner, "\n", headed=True, depth=depth + 1)
    return status


async def _show(call: Call, given: Flags, found: list[tuple[str, Entry]]) -> None:
    if "t" in given:
        found = sorted(found, key=lambda pair: -pair[1].mtime)
    if "S" in given:
        found = sorted(found, key=lambda pair: -pair[1].size)
    if "r" in given:
        found = found[::-1]
    if not given.names & {"l", "o", "g", "n"}:
        rows = [[name + _mark(given, seen)] for name, seen in found]
    else:
        rows = [_long(given, name, seen) for name, seen in found]
    if "s" in given:
        rows = [[str(seen.blocks // 2), *row] for row, (_, seen) in zip(rows, found, strict=True)]
    if "i" in given:
        rows = [[str(seen.inode), *row] for row, (_, seen) in zip(rows, found, strict=True)]
    plain = not given.names & {"1", "l", "o", "g", "n", "i", "s"} and bool(rows)
    if plain and "m" in given:
        await call.out(", ".join(row[0] for row in rows) + "\n")
        return
    if plain and (call.tty or given.names & {"C", "x"}):
        await call.out(_columns([row[0] for row in rows], across="x" in given))
        return
    await call.out("".join(line + "\n" for line in _aligned(rows)))


def _mark(given: Flags, seen: Entry) -> str:
    if not given.names & {"F", "p"}:
        return ""
    if seen.is_dir:
        return "/"
    if "p" in given:
        return ""
    return "@" if seen.is_link else "*" if seen.mode & 0o111 else ""


def _long(given: Flags, name: str, seen: Entry) -> list[str]:
    numeric = "n" in given
    owner = str(seen.uid) if numeric else user(seen.uid)
    group = str(seen.gid) if numeric else user(seen.gid)
    size = human(seen.size) if "h" in given else str(seen.size)
    if stat.S_ISCHR(seen.mode):
        size = "1,   3"
    arrow = f" -> {seen.target}" if seen.is_link else ""
    who = [w for w, hidden in ((owner, "g"), (group, "o")) if hidden not in given]
    return [
        stat.filemode(seen.mode),
        str(seen.links),
        *who,
        size,
        stamp(seen.mtime),
        name + _mark(given, seen) + arrow,
    ]


def _aligned(rows: list[list[str]]) -> list[str]:
    """toybox's columns: owners to the left, numbers to the right."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if cell.replace(",", "").strip()[:1].isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=False)
        ]
        lines.append(" ".join([*cells, row[-1]]))
    return lines


def _columns(names: list[str], width: int = 80, *, across: bool = False) -> str:
    """Names in columns; `across` fills the rows first."""
    cell = max(len(name) for name in names) + 2
    count = max(1, width // cell)
    down = -(-len(names) // count)
    rows = (
        [names[at : at + count] for at in range(0, len(names), count)]
        if across
        else [names[row::down] for row in range(down)]
    )
    lines = ("".join(name.ljust(cell) for name in row).rstrip() for row in rows)
    return "".join(line + "\n" for line in lines)


KINDS = {
    stat.S_IFREG: "regular file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFCHR: "character device",
}


def stat_field(letter: str, path: str, seen: Entry) -> str:
    mode = stat.S_IMODE(seen.mode)
    kind = KINDS.get(stat.S_IFMT(seen.mode), "file")
    if kind == "regular file" and not seen.size:
        kind = "regular empty file"
    full = stamp(seen.mtime, "%Y-%m-%d %H:%M:%S") + f".{int(seen.mtime % 1 * 1e9):09d} +0000"
    quoted = path + (f" -> '{seen.target}'" if seen.is_link else "")
    values = {
        "a": f"{mode:o}",
        "A": stat.filemode(seen.mode),
        "b": str(seen.blocks),
        "B": "512",
        "f": f"{seen.mode:x}",
        "F": kind,
        "g": str(seen.gid),
        "G": user(seen.gid),
        "h": str(seen.links),
        "i": str(seen.inode),
        "n": path,
        "N": quoted,
        "o": "4096",
        "s": str(seen.size),
        "u": str(seen.uid),
        "U": user(seen.uid),
        "%": "%",
    }
    if letter in "xyzw":
        return full
    if letter in "XYZW":
        return str(int(seen.mtime))
    return values.get(letter, "?")


def stat_text(form: str, path: str, seen: Entry) -> str:
    pieces = form.split("%")
    text = pieces[0]
    rest = pieces[1:]
    while rest:
        piece = rest.pop(0)
        if not piece:
            text += "%" + (rest.pop(0) if rest else "")
        else:
            text += stat_field(piece[0], path, seen) + piece[1:]
    return text


STAT_DEFAULT = (
    "  File: %N\n  Size: %s\t Blocks: %b\t IO Blocks: %B\t%F\n"
    "Device: fe20h/65056d\t Inode: %i\t Links: %h\n"
    "Access: (0%a/%A)\tUid: (%u/%U)\tGid: (%g/%G)\n"
    "Access: %x\nModify: %y\nChange: %z"
)


async def stat_(call: Call) -> int:
    given = flags(call.args, "Lc:ft")
    needs(given.rest)
    status = 0
    for path in given.rest:
        try:
            seen = entry(call, path, follow="L" in given)
        except OSError as error:
            status = await complain(call, path, error, quoted=True)
            continue
        await call.out(stat_text(given.value("c", STAT_DEFAULT), path, seen) + "\n")
    return status


async def du(call: Call) -> int:
    given = flags(call.args, "shkmacd:LHlxKb")
    status = 0
    shown: list[tuple[int, str]] = []
    deepest = given.number("d", MAX_DEPTH)

    def size(path: str, depth: int) -> int:
        seen = entry(call, path, follow=False)
        if not seen.is_dir:
            total = seen.size if "b" in given else seen.blocks * 512
            if ("a" in given and "s" not in given) or not depth:
                shown.append((total, path))
            return total
        total = 4096
        if depth < MAX_DEPTH:
            for name in call.world.disk.names(path, call.uid, call.cwd):
                total += size(f"{path.rstrip('/')}/{name}", depth + 1)
        if depth == 0 or ("s" not in given and depth <= deepest):
            shown.append((total, path))
        return total

    for path in given.rest or ["."]:
        try:
            size(path, 0)
        except OSError as error:
            status = await complain(call, path, error)
    for total, path in shown:
        if "h" in given:
            text = human(total)
        elif "b" in given:
            text = str(total)
        else:
            text = str(-(-total // ((1 << 20) if "m" in given else 1024)))
        await call.out(f"{text}\t{path}\n")
    return status


def mounts() -> list[tuple[str, int, int, str]]:
    return [
        ("/dev/block/dm-0", SYSTEM_BLOCKS, SYSTEM_BLOCKS - 2668, "/"),
        ("tmpfs", 1007860, 1196, "/dev"),
        ("/dev/block/dm-5", DATA_BLOCKS, 1048576, "/data"),
        ("/dev/fuse", DATA_BLOCKS, 1048576, "/storage/emulated"),
    ]


async def df(call: Call) -> int:
    given = flags(call.args, "HPkhit:a")
    chosen = mounts()
    if given.rest:
        chosen = []
        for path in given.rest:
            try:
                where = entry(call, path).path + "/"
            except OSError as error:
                await call.out("Filesystem     1K-blocks Used Available Use% Mounted on\n")
                return await complain(call, path, error, quoted=True)
            inside = [m for m in mounts() if where.startswith(m[3].rstrip("/") + "/")]
            best = max(inside, key=lambda mount: len(mount[3]))
            chosen.append(mounts()[3] if where.startswith("/data/media/") else best)
    unit = "Size" if given.names & {"h", "H"} else "1K-blocks"
    rows = [["Filesystem", unit, "Used", "Available" if unit != "Size" else "Avail", "Use%"]]
    for name, total, used, _ in chosen:
        numbers = [total, used, total - used]
        texts = [human(n * 1024) if unit == "Size" else str(n) for n in numbers]
        rows.append([name, *texts, f"{-(-used * 100 // total)}%"])
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row, mount in zip(rows, ["Mounted on", *(m[3] for m in chosen)], strict=True):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        await call.out(" ".join([*cells, mount]) + "\n")
    return 0


PROGRAMS = {"ls": ls, "stat": stat_, "du": du, "df": df}
