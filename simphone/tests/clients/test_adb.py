"""The real adb binary finds nothing to tell the phone from an emulator by."""

from __future__ import annotations

import hashlib
import os
import re
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.apks import apk
from tests.clients.conftest import Phone, until

MEGABYTE = 1 << 20


def test_devices_lists_it_with_its_product_and_model(phone: Phone) -> None:
    listed = phone.out("devices", "-l")
    line = rf"{phone.serial}\s+device product:\S+ model:\S+ device:\S+ transport_id:\d+"
    assert re.search(line, listed), listed


@pytest.mark.parametrize(("script", "code"), [("true", 0), ("false", 1), ("nonsense", 127)])
def test_a_commands_exit_code_is_adbs(phone: Phone, script: str, code: int) -> None:
    assert phone.adb("shell", script).returncode == code


def test_stdout_and_stderr_arrive_apart(phone: Phone) -> None:
    done = phone.adb("shell", "echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 3)


def test_five_megabytes_of_binary_stdout_arrive_unchanged(phone: Phone, tmp_path: Path) -> None:
    data = os.urandom(5 * MEGABYTE)
    (tmp_path / "random").write_bytes(data)
    phone.out("push", str(tmp_path / "random"), "/data/local/tmp/random")
    assert phone.adb("shell", "cat /data/local/tmp/random").stdout == data
    assert phone.adb("exec-out", "cat /data/local/tmp/random").stdout == data


def test_stdin_reaches_the_command(phone: Phone) -> None:
    data = os.urandom(MEGABYTE)
    done = phone.adb("shell", "sha256sum", stdin=data)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_sixty_four_megabytes_come_back_as_they_went(phone: Phone, tmp_path: Path) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    there.write_bytes(os.urandom(64 * MEGABYTE))
    phone.out("push", str(there), "/sdcard/Download/large")
    phone.out("pull", "/sdcard/Download/large", str(back))
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (there, back)]
    seen = phone.out("shell", "sha256sum /sdcard/Download/large").split()[0]
    assert {*digests, seen} == {digests[0]}


def test_a_folder_goes_and_comes_back(phone: Phone, tmp_path: Path) -> None:
    source = tmp_path / "a folder"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "größe.txt").write_text("ü")
    (source / "empty").write_bytes(b"")
    phone.out("push", str(source), "/sdcard/")
    phone.out("pull", "/sdcard/a folder", str(tmp_path / "back"))
    assert (tmp_path / "back" / "inner" / "größe.txt").read_text() == "ü"
    assert (tmp_path / "back" / "empty").read_bytes() == b""


def test_a_screenshot_is_a_whole_png(phone: Phone) -> None:
    png = phone.adb("exec-out", "screencap", "-p").stdout
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert png.endswith(b"IEND\xaeB`\x82")


def test_the_log_is_dumped_and_ends(phone: Phone) -> None:
    phone.out("shell", "log -t Walk hello there")
    assert re.search(r"I Walk\s*: hello there", phone.out("logcat", "-d"))


def test_snapshots_are_saved_listed_and_loaded_by_adb_emu(phone: Phone) -> None:
    assert phone.out("emu", "avd", "snapshot", "save", "mine").strip() == "OK"
    assert "mine" in phone.out("emu", "avd", "snapshot", "list")
    phone.out("shell", "touch /data/local/tmp/after")
    assert phone.out("emu", "avd", "snapshot", "load", "mine").strip() == "OK"
    phone.out("wait-for-device")
    assert phone.adb("shell", "ls /data/local/tmp/after").returncode == 1
    done = phone.adb("emu", "avd", "snapshot", "load", "absent")
    assert done.returncode == 0  # adb exits 0 on KO: the text decides
    assert b"KO: Device 'cache' does not have the requested snapshot 'absent'" in done.stdout
    phone.out("emu", "avd", "snapshot", "delete", "mine")


def test_root_restarts_adbd_as_root(phone: Phone) -> None:
    assert phone.out("shell", "id -u").strip() == "2000"
    assert "restarting adbd as root" in phone.out("root")
    phone.out("wait-for-device")
    assert phone.out("shell", "id -u").strip() == "0"
    assert "adbd is already running as root" in phone.out("root")
    phone.out("unroot")
    phone.out("wait-for-device")
    assert phone.out("shell", "id -u").strip() == "2000"


def test_the_browser_reaches_a_host_server_through_reverse(phone: Phone) -> None:
    class Page(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            body = b"<h1>Through the tunnel</h1>"
            head = f"HTTP/1.0 200 OK\r\nContent-Length: {len(body)}\r\n"
            self.wfile.write(head.encode() + b"Content-Type: text/html\r\n\r\n" + body)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        phone.out("reverse", "tcp:8765", f"tcp:{server.server_address[1]}")
        assert "tcp:8765" in phone.out("reverse", "--list")
        phone.out("shell", "am start -a android.intent.action.VIEW -d http://localhost:8765/")
        wanted = "Through the tunnel"
        for _ in range(200):
            if wanted in phone.out("shell", "uiautomator dump /dev/tty"):
                break
        else:
            pytest.fail("the page never came")
        phone.out("reverse", "--remove-all")
        server.shutdown()


def test_a_file_that_is_no_apk_is_not_installed(phone: Phone, tmp_path: Path) -> None:
    (tmp_path / "fake.apk").write_bytes(b"not a zip")
    done = phone.adb("install", str(tmp_path / "fake.apk"))
    assert done.returncode != 0
    assert b"Failure [INSTALL_PARSE_FAILED" in done.stdout + done.stderr


def test_twenty_shells_at_once_each_get_their_own_answer(phone: Phone) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: phone.out("shell", f"echo {n}; sleep 0.2"), range(20)))
    assert [answer.strip() for answer in answers] == [str(n) for n in range(20)]


def test_reboot_comes_back_with_another_boot_id(phone: Phone) -> None:
    before = phone.out("shell", "cat /proc/sys/kernel/random/boot_id")
    connection = phone.connection()
    phone.out("reboot")
    until(lambda: phone.connection() not in ("", connection), "a new connection")
    phone.wait_booted()
    assert phone.out("shell", "cat /proc/sys/kernel/random/boot_id") != before


def test_an_apk_is_installed_listed_and_removed(phone: Phone, tmp_path: Path) -> None:
    (tmp_path / "app.apk").write_bytes(apk("com.example.walk"))
    assert "Success" in phone.out("install", str(tmp_path / "app.apk"))
    assert "package:com.example.walk" in phone.out("shell", "pm list packages")
    assert "Success" in phone.out("uninstall", "com.example.walk")
    assert "com.example.walk" not in phone.out("shell", "pm list packages")
