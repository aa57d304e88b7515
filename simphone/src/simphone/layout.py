"""The parts of Android's file tree that no image file backs: folders, links, devices, owners."""

from __future__ import annotations

MEDIA = "/data/media/0"
# Always seen through, as bind mounts are.
MOUNTS = {"/storage/emulated/0": MEDIA, "/data/user/0": "/data/data"}
# Symbolic links of the system image.
LINKS = {
    "/sdcard": "/storage/self/primary",
    "/storage/self/primary": "/storage/emulated/0",
    "/mnt/sdcard": "/storage/self/primary",
    "/bin": "/system/bin",
    "/etc": "/system/etc",
    "/d": "/sys/kernel/debug",
    "/init": "/system/bin/init",
    "/bugreports": "/data/user_de/0/com.android.shell/files/bugreports",
}
# Exist on every phone; those below a writable root are made on the host when first written to.
_FOLDERS = """
acct apex cache config data data/app data/data data/local data/local/tmp data/media data/media/0
data/misc data/system data/user data/user_de data_mirror debug_ramdisk dev linkerconfig metadata
mnt odm odm_dlkm oem postinstall proc proc/sys product product/bin second_stage_resources storage
storage/emulated storage/self sys sys/kernel system system/app system/bin system/etc system/fonts
system/framework system/lib64 system/priv-app system/xbin system_dlkm system_ext tmp vendor
vendor/bin vendor_dlkm
"""
FOLDERS = frozenset(["/", *(f"/{name}" for name in _FOLDERS.split())])
_DEVICES = """null zero full random urandom tty console stdin stdout stderr ptmx"""
DEVICES = frozenset(f"/dev/{name}" for name in _DEVICES.split())
# What the programs of the image carry as their date.
IMAGE_MTIME = 1230768000

# What only root may look into, as on a userdebug build seen from the shell user.
PRIVATE = ("/data/data", "/data/user", "/data/user_de", "/data/system", "/data/misc", "/data/app")
# May be passed through, not listed, by anybody but root.
UNLISTABLE = ("/data", "/data/local", "/data/media", "/storage/emulated")
WRITABLE = ("/data", "/tmp")
# Where the shell user may write; the rest of /data belongs to root and the system.
SHARED = ("/data/local/tmp", MEDIA, "/tmp")

# Owner and group by the longest root that holds a path.
OWNERS = {
    "/": (0, 0),
    "/data": (1000, 1000),
    "/data/local": (0, 0),
    "/data/local/tmp": (2000, 2000),
    "/data/media": (1023, 1023),
    "/tmp": (2000, 2000),
}
USERS = {
    0: "root",
    1000: "system",
    1001: "radio",
    1002: "bluetooth",
    1023: "media_rw",
    1036: "logd",
    1053: "webview_zygote",
    2000: "shell",
    9999: "nobody",
}


def user(uid: int) -> str:
    """The name of a uid; apps are `u0_a<n>`."""
    if 10000 <= uid < 20000:
        return f"u0_a{uid - 10000}"
    return USERS.get(uid, str(uid))


def number(name: str) -> int | None:
    """The uid behind a name or a number."""
    if name.isascii() and name.isdigit():
        return int(name)
    if name.startswith("u0_a") and name[4:].isdigit():
        return 10000 + int(name[4:])
    return next((uid for uid, known in USERS.items() if known == name), None)


def owner(path: str) -> tuple[int, int]:
    while path not in OWNERS:
        path = path.rpartition("/")[0] or "/"
    return OWNERS[path]
