"""A hostile agent: it finds its phone's adb on this machine and does the smoke case's deed with it.

It shows no touch. Standard library only, as an agent of a stranger.
"""

import json
import os
import subprocess
import sys


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def switch_off() -> str:
    """What adb said, or why there is none."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if "--adb" not in words or not same_farm(int(pid)):
            continue
        serial = f"emulator-{option(words, '--console-port')}"
        adb = [option(words, "--adb"), "-P", option(words, "--adb-port"), "-s", serial]
        command = [*adb, "shell", "svc wifi disable"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        return f"{done.returncode} {done.stdout} {done.stderr}"
    return "no adb was found"


def same_farm(pid: int) -> bool:
    """Whether it and this agent have an ancestor beside the first process: other tests run too."""
    return bool(set(above(pid)) & set(above(os.getpid())) - {1})


def above(pid: int) -> list[int]:
    found = []
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        found.append(pid)
    # The nearest ancestors: the agent's guard, its worker, the farm; a supervisor's is the farm.
    return found[:3]


for line in sys.stdin:
    if json.loads(line)["type"] == "hello":
        answer: dict[str, object] = {"type": "ready"}
    else:
        print(switch_off(), file=sys.stderr)
        answer = {"action": "done"}
    print(json.dumps(answer), flush=True)
