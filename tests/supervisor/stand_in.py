"""A stand-in emulator for the supervisor's tests, with a console, a child process and ways to die.

How it behaves is said by the file `behaviour` in its AVD, so a re-copied AVD behaves anew.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path


def main() -> None:
    words = sys.argv[1:]
    if "-version" in words:
        print("Android emulator version 36.5.11.0 (build_id 15261927) (CL:N/A)")
        return
    name, port = words[words.index("-avd") + 1], int(words[words.index("-port") + 1])
    avd = Path(os.environ["ANDROID_AVD_HOME"]) / f"{name}.avd"
    behaviour = (avd / "behaviour").read_text().split()
    if behaviour[0] == "exit":
        sys.exit(int(behaviour[1]))
    if behaviour[0] == "signal":
        os.kill(os.getpid(), int(behaviour[1]))
    if behaviour[0] == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    token = (Path(os.environ["HOME"]) / ".emulator_console_auth_token").read_text()
    with socket.create_server(("127.0.0.1", port)) as console:
        sleeper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        print(json.dumps({"words": words, "grandchild": sleeper.pid}), flush=True)
        (avd / "written-by-the-emulator").touch()
        while True:
            caller, _ = console.accept()
            with caller, caller.makefile("rwb") as lines:
                if behaviour[0] == "stubborn":
                    continue
                lines.write(b"Android Console: Authentication required\r\nOK\r\n")
                lines.flush()
                if lines.readline().decode().strip() != f"auth {token}":
                    continue
                if lines.readline().strip() == b"kill":
                    lines.write(b"OK: killing emulator, bye bye\r\n")
                    lines.flush()
                    os._exit(0)


main()
