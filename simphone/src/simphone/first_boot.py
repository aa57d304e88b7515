"""What a fresh disk is filled with: folders, packages, settings, and every app's own files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .disk import MEDIA
from .processes import SYSTEM
from .services.packages import Package

if TYPE_CHECKING:
    from .world import World

# Written last: a disk without it was never finished, and is made again from nothing.
FINISHED = "/data/system/users/userlist.xml"

FOLDERS = (
    "/data/app", "/data/data", "/data/local/tmp", "/data/misc", "/data/property", "/data/system",
    "/data/user_de/0", "/data/anr", "/data/tombstones", "/tmp",
    *(f"{MEDIA}/{name}" for name in (
        "Alarms", "Android/data", "Android/obb", "Audiobooks", "DCIM", "Documents", "Download",
        "Movies", "Music", "Notifications", "Pictures", "Podcasts", "Recordings", "Ringtones")),
)  # fmt: skip

SETTINGS: dict[str, dict[str, str]] = {
    "global": {
        "adb_enabled": "1",
        "airplane_mode_on": "0",
        "airplane_mode_radios": "cell,bluetooth,uwb,wifi,wimax",
        "animator_duration_scale": "1.0",
        "auto_time": "1",
        "auto_time_zone": "1",
        "bluetooth_on": "1",
        "boot_count": "1",
        "captive_portal_mode": "1",
        "cell_on": "1",
        "data_roaming": "0",
        "development_settings_enabled": "1",
        "device_name": "sdk_gphone64_x86_64",
        "device_provisioned": "1",
        "heads_up_notifications_enabled": "1",
        "mobile_data": "1",
        "mode_ringer": "2",
        "package_verifier_enable": "1",
        "stay_on_while_plugged_in": "0",
        "transition_animation_scale": "1.0",
        "usb_mass_storage_enabled": "1",
        "verifier_verify_adb_installs": "1",
        "wifi_on": "1",
        "window_animation_scale": "1.0",
        "zen_mode": "0",
    },
    "secure": {
        "accessibility_enabled": "0",
        "android_id": "8f3b2c1d4e5a6978",
        "bluetooth_name": "sdk_gphone64_x86_64",
        "default_input_method": "com.android.inputmethod.latin/.LatinIME",
        "enabled_input_methods": "com.android.inputmethod.latin/.LatinIME",
        "install_non_market_apps": "0",
        "location_mode": "3",
        "lockscreen.disabled": "1",
        "navigation_mode": "0",
        "selected_spell_checker_subtype": "0",
        "show_ime_with_hard_keyboard": "1",
        "sms_default_application": "com.android.messaging",
        "ui_night_mode": "1",
        "user_setup_complete": "1",
    },
    "system": {
        "accelerometer_rotation": "1",
        "font_scale": "1.0",
        "haptic_feedback_enabled": "1",
        "screen_brightness": "102",
        "screen_brightness_mode": "0",
        "screen_off_timeout": "2147483647",
        "sound_effects_enabled": "1",
        "time_12_24": "24",
        "user_rotation": "0",
        "volume_music": "5",
        "volume_ring": "5",
    },
}

# Packages without a screen of their own, their folders under /system, and their users (0: its own).
_QUIET: tuple[tuple[str, str, int], ...] = (
    ("com.android.bluetooth", "app/Bluetooth", 1002),
    ("com.android.documentsui", "priv-app/DocumentsUI", 0),
    ("com.android.externalstorage", "priv-app/ExternalStorageProvider", 0),
    ("com.android.inputmethod.latin", "product/app/LatinIME", 0),
    ("com.android.networkstack", "priv-app/NetworkStack", 1073),
    ("com.android.packageinstaller", "priv-app/PackageInstaller", 0),
    ("com.android.permissioncontroller", "priv-app/PermissionController", 0),
    ("com.android.phone", "priv-app/TeleService", 1001),
    ("com.android.providers.calendar", "priv-app/CalendarProvider", 0),
    ("com.android.providers.contacts", "priv-app/ContactsProvider", 0),
    ("com.android.providers.downloads", "priv-app/DownloadProvider", 0),
    ("com.android.providers.media.module", "priv-app/MediaProvider", 0),
    ("com.android.providers.settings", "priv-app/SettingsProvider", 1000),
    ("com.android.providers.telephony", "priv-app/TelephonyProvider", 1001),
    ("com.android.server.telecom", "priv-app/Telecom", 1000),
    ("com.android.shell", "priv-app/Shell", 2000),
    ("com.android.systemui", "system_ext/priv-app/SystemUI", 0),
    ("com.google.android.gms", "product/priv-app/PrebuiltGmsCore", 0),
    ("com.google.android.gsf", "product/priv-app/GoogleServicesFramework", 0),
    ("com.google.android.webview", "product/app/WebViewGoogle", 0),
)


def is_fresh(world: World) -> bool:
    return not world.disk.own(FINISHED).is_file()


def create_disk(world: World) -> None:
    from . import providers  # imports every provider: not what a module level should cost

    world.databases.close()
    world.disk.wipe()
    world.packages.forget()
    for folder in FOLDERS:
        world.disk.own(folder).mkdir(parents=True, exist_ok=True)
    _install_packages(world)
    world.settings.create()
    for space, values in SETTINGS.items():
        for name, value in values.items():
            world.settings.put(space, name, value)
    providers.create_all(world)
    for app in world.apps.values():
        app.create(world)
    finished = world.disk.own(FINISHED)
    finished.write_text("<users nextSerialNumber='10' version='11'><user id='0'/></users>\n")


def _install_packages(world: World) -> None:
    packages = world.packages
    installed_ms = 1_230_768_000_000  # 2009-01-01, the date of every file of a system image
    android = "/system/framework/framework-res.apk"
    packages.put(Package("android", android, SYSTEM, installed_ms=installed_ms))
    quiet = {name: (folder, owner) for name, folder, owner in _QUIET}
    for name in sorted({*quiet, *world.apps}):
        title = name.rpartition(".")[2].capitalize()
        folder, owner = quiet.get(name, (f"app/{title}", 0))
        path = f"/system/{folder}/{folder.rpartition('/')[2]}.apk"
        app = world.apps.get(name)
        asked = tuple(app.permissions) if app else ()
        uid = owner or packages.next_uid()
        packages.put(Package(name, path, uid, permissions=asked, installed_ms=installed_ms))
