"""What the shell does itself: what changes the shell, and what is asked too often to start."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..programs.opening import reason
from ..programs.printing import echo, printf
from .condition import test
from .expand import split
from .flow import Exit, Jump, Return
from .input import Input
from .launch import NotRunnable, find, guarded
from .lexer import NAME
from .parser import MAX_SCRIPT, parse
from .state import DEFAULT_IFS, PATH, source
from .syntax import ShellSyntaxError

if TYPE_CHECKING:
    from ..programs.call import Program
    from .execution import Interpreter

Builtin = Callable[["Interpreter", list[str]], Awaitable[int]]
MAX_LINE = 16 << 20
_KEYWORDS = """if then elif else fi while until do done for case esac in { } ! [["""
KEYWORDS = frozenset(_KEYWORDS.split())


async def _succeed(_: Interpreter, __: list[str]) -> int:
    return 0


async def _fail(_: Interpreter, __: list[str]) -> int:
    return 1


def _in_process(program: Program) -> Builtin:
    async def run(interpreter: Interpreter, argv: list[str]) -> int:
        return await guarded(program, interpreter.shell.call(argv))

    return run


async def _cd(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    args = [arg for arg in argv[1:] if arg not in ("-L", "-P", "--")]
    target = args[0] if args else shell.variables.get("HOME", "/")
    if target == "-":
        target = shell.variables.get("OLDPWD", shell.cwd)
        await shell.out(target + "\n")
    try:
        entry = shell.world.disk.entry(target, shell.uid, shell.cwd)
        if not entry.is_dir:
            await shell.complain(f"cd: {target}: Not a directory")
            return 2
        shell.world.disk.canonical(target, shell.cwd)
    except OSError as error:
        await shell.complain(f"cd: {target}: {reason(error)}")
        return 2
    shell.variables["OLDPWD"] = shell.cwd
    shell.cwd = _logical(target, shell.cwd)
    return 0


def _logical(target: str, cwd: str) -> str:
    """Where `cd` says it is: links keep the name they were entered by."""
    parts: list[str] = []
    for part in (target if target.startswith("/") else f"{cwd}/{target}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


async def _pwd(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    cwd = shell.world.disk.canonical(shell.cwd) if "-P" in argv else shell.cwd
    await shell.out(cwd + "\n")
    return 0


async def _export(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    names = [arg for arg in argv[1:] if arg != "-p"]
    if not names:
        for name in sorted(shell.exported):
            await shell.out(f"export {name}={shell.variables.get(name, '')}\n")
    for arg in names:
        name, given, value = arg.partition("=")
        if not NAME.fullmatch(name):
            await shell.complain(f"{argv[0]}: {arg}: is not an identifier")
            return 1
        if given:
            shell.put(name, value)
        if argv[0] == "export":
            shell.exported.add(name)
    return 0


async def _local(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    if shell.scopes:
        for arg in argv[1:]:
            name = arg.partition("=")[0]
            shell.scopes[-1].setdefault(name, shell.variables.get(name))
            if "=" not in arg:
                shell.variables.pop(name, None)
    assigning = [arg for arg in argv[1:] if "=" in arg]
    return await _export(interpreter, [argv[0], *assigning]) if assigning else 0


async def _unset(interpreter: Interpreter, argv: list[str]) -> int:
    for name in argv[1:]:
        interpreter.shell.variables.pop(name, None)
        interpreter.shell.functions.pop(name, None)
        interpreter.shell.exported.discard(name)
    return 0


async def _set(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    args = argv[1:]
    if not args:
        for name, value in sorted(shell.variables.items()):
            await shell.out(f"{name}={value}\n")
    long = {"errexit": "e", "xtrace": "x", "nounset": "u", "noglob": "f", "allexport": "a"}
    while args and args[0][:1] in ("-", "+") and len(args[0]) > 1:
        option = args.pop(0)
        if option == "--":
            shell.positional = args
            return 0
        letters = option[1:]
        if letters == "o":
            letters = long.get(args.pop(0), "") if args else ""
        if option[0] == "-":
            shell.options.update(letters)
        else:
            shell.options.difference_update(letters)
    if args:
        shell.positional = args
    return 0


def _code(interpreter: Interpreter, argv: list[str]) -> int:
    if len(argv) < 2:
        return interpreter.shell.status
    return int(argv[1][-9:]) if re.fullmatch(r"-?[0-9]+", argv[1]) else 1


async def _exit(interpreter: Interpreter, argv: list[str]) -> int:
    raise Exit(_code(interpreter, argv))


async def _return(interpreter: Interpreter, argv: list[str]) -> int:
    raise Return(_code(interpreter, argv))


async def _jump(interpreter: Interpreter, argv: list[str]) -> int:
    levels = _code(interpreter, argv) if len(argv) > 1 else 1
    raise Jump(max(1, levels), again=argv[0] == "continue")


async def _read(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    args = argv[1:]
    raw = False
    delimiter = b"\n"
    while args and args[0].startswith("-") and len(args[0]) > 1:
        option = args.pop(0)
        raw = raw or "r" in option
        if option.endswith("d") and args:
            delimiter = args.pop(0).encode()[:1] or b"\0"
        elif option.endswith(("p", "t", "n", "N")) and args:
            args.pop(0)
    stdin = shell.files[0]
    if not isinstance(stdin, Input):
        stdin = shell.files[0] = Input(source(stdin))
    line = await stdin.line(MAX_LINE, delimiter)
    text = line.removesuffix(delimiter).decode("utf-8", "surrogateescape").replace("\0", "")
    if not raw:
        while text.endswith("\\") and not text.endswith("\\\\"):
            more = await stdin.line(MAX_LINE, delimiter)
            text = text[:-1] + more.removesuffix(delimiter).decode("utf-8", "surrogateescape")
        text = re.sub(r"\\(.)", r"\1", text)
    _assign_fields(interpreter, args or ["REPLY"], text, whole=not args)
    return 0 if line.endswith(delimiter) else 1


def _assign_fields(
    interpreter: Interpreter, names: list[str], text: str, *, whole: bool = False
) -> None:
    """The last name gets the rest of the line as it stands."""
    shell = interpreter.shell
    ifs = shell.variables.get("IFS", DEFAULT_IFS)
    blank = "".join(char for char in ifs if char in DEFAULT_IFS)
    if whole:
        shell.put(names[0], text)
        return
    rest = text.strip(blank)
    for name in names[:-1]:
        found = re.match(_separator(ifs, blank), rest, re.DOTALL) if ifs else None
        shell.put(name, found.group(1) if found else rest)
        rest = rest[found.end() :] if found else ""
    if ifs.strip(DEFAULT_IFS) and len(split(rest, ifs)[1]) <= 1:
        rest = rest.rstrip(ifs)
    shell.put(names[-1], rest)


def _separator(ifs: str, blank: str) -> str:
    hard = "".join(char for char in ifs if char not in blank)
    soft_class = f"[{re.escape(blank)}]" if blank else "(?!)"
    hard_class = f"[{re.escape(hard)}]" if hard else "(?!)"
    return rf"(.*?)(?:{soft_class}*{hard_class}{soft_class}*|{soft_class}+)"


async def _shift(interpreter: Interpreter, argv: list[str]) -> int:
    count = _code(interpreter, argv) if len(argv) > 1 else 1
    if count > len(interpreter.shell.positional):
        await interpreter.shell.complain("shift: nothing to shift")
        return 1
    del interpreter.shell.positional[:count]
    return 0


async def _eval(interpreter: Interpreter, argv: list[str]) -> int:
    return await _sourced(interpreter, " ".join(argv[1:]))


async def _sourced(interpreter: Interpreter, text: str) -> int:
    try:
        script = parse(text)
    except ShellSyntaxError as error:
        await interpreter.shell.complain(str(error))
        raise Exit(1) from None
    if not script.items:
        return 0
    async with interpreter.deeper():
        return await interpreter.script(script)


async def _source(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    if len(argv) < 2:
        await shell.complain(f"{argv[0]}: missing argument")
        return 1
    try:
        with shell.world.disk.open(argv[1], shell.uid, shell.cwd) as opened:
            data = opened.read(MAX_SCRIPT + 1)
    except OSError as error:
        await shell.complain(f"{argv[0]}: {argv[1]}: {reason(error)}")
        return 1
    try:
        return await _sourced(interpreter, data.decode("utf-8", "surrogateescape"))
    except Return as done:
        return done.code


async def _exec(interpreter: Interpreter, argv: list[str]) -> int:
    if len(argv) == 1:
        return 0
    raise Exit(await interpreter.program(argv[1:], {}))


async def _which(interpreter: Interpreter, argv: list[str]) -> int:
    """`command -v`, `type` and `which`: where would a name lead?"""
    shell = interpreter.shell
    missing = 0
    for name in argv[1:]:
        if argv[0] != "which" and name in shell.functions:
            found, kind = name, f"{name} is a function"
        elif argv[0] != "which" and name in KEYWORDS:
            found, kind = name, f"{name} is a reserved word"
        elif argv[0] != "which" and name in BUILTINS:
            found, kind = name, f"{name} is a shell builtin"
        else:
            try:
                path = shell.variables.get("PATH", PATH)
                found = find(shell.world, name, shell.uid, shell.cwd, path)
                kind = f"{name} is {found}"
            except NotRunnable:
                missing = 1
                if argv[0] == "type":
                    await shell.out(f"{name} not found\n")
                continue
        await shell.out((kind if argv[0] == "type" else found) + "\n")
    return missing


async def _command(interpreter: Interpreter, argv: list[str]) -> int:
    args = argv[1:]
    if args[:1] in (["-v"], ["-V"]):
        return await _which(interpreter, ["command" if args[0] == "-v" else "type", *args[1:]])
    if args[:1] == ["-p"]:
        args = args[1:]
    if not args:
        return 0
    builtin = BUILTINS.get(args[0])
    if builtin is not None:
        return await builtin(interpreter, args)
    return await interpreter.program(args, {})


async def _wait(interpreter: Interpreter, argv: list[str]) -> int:
    jobs = interpreter.shell.jobs
    wanted = [int(pid) for pid in argv[1:] if pid.isdigit()] or list(jobs)
    status = 0
    for pid in wanted:
        job = jobs.pop(pid, None)
        status = 127 if job is None else await job.wait()
    return status if argv[1:] else 0


async def _umask(interpreter: Interpreter, argv: list[str]) -> int:
    shell = interpreter.shell
    if len(argv) == 1:
        await shell.out(f"{shell.umask:04o}\n")
    elif re.fullmatch(r"[0-7]{1,4}", argv[1]):
        shell.umask = int(argv[1], 8)
    else:
        await shell.complain(f"umask: {argv[1]}: bad mask")
        return 1
    return 0


async def _time(interpreter: Interpreter, argv: list[str]) -> int:
    loop = asyncio.get_running_loop()
    started = loop.time()
    status = await interpreter.run(argv[1:], {}) if argv[1:] else 0
    took = loop.time() - started
    shown = f"    {int(took // 60)}m{took % 60:05.2f}s real     0m00.00s user     0m00.00s system\n"
    await interpreter.shell.call([""]).err(shown)
    return status


BUILTINS: dict[str, Builtin] = {
    ":": _succeed,
    "true": _succeed,
    "false": _fail,
    "echo": _in_process(echo),
    "print": _in_process(echo),
    "printf": _in_process(printf),
    "test": _in_process(test),
    "[": _in_process(test),
    "cd": _cd,
    "pwd": _pwd,
    "export": _export,
    "readonly": _export,
    "typeset": _local,
    "local": _local,
    "unset": _unset,
    "set": _set,
    "exit": _exit,
    "return": _return,
    "break": _jump,
    "continue": _jump,
    "read": _read,
    "shift": _shift,
    "eval": _eval,
    ".": _source,
    "source": _source,
    "exec": _exec,
    "type": _which,
    "which": _which,
    "whence": _which,
    "command": _command,
    "wait": _wait,
    "umask": _umask,
    "time": _time,
    "trap": _succeed,
    "ulimit": _succeed,
}
