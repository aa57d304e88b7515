"""Android's framework on this phone: is it up, which services it has, and how it comes back.

The services are up exactly while a process named `system_server` exists: it takes that name in
the moment its services are published. Everything that needs a service asks `framework_up`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .processes import ROOT, SHELL, SYSTEM

if TYPE_CHECKING:
    from .state import Json
    from .world import World

# Name and interface, as `service list` shows them.
_SERVICES: tuple[tuple[str, str], ...] = (
    ("accessibility", "android.view.accessibility.IAccessibilityManager"),
    ("account", "android.accounts.IAccountManager"),
    ("activity", "android.app.IActivityManager"),
    ("activity_task", "android.app.IActivityTaskManager"),
    ("alarm", "android.app.IAlarmManager"),
    ("appops", "com.android.internal.app.IAppOpsService"),
    ("audio", "android.media.IAudioService"),
    ("battery", ""),
    ("batterystats", "com.android.internal.app.IBatteryStats"),
    ("bluetooth_manager", "android.bluetooth.IBluetoothManager"),
    ("clipboard", "android.content.IClipboard"),
    ("connectivity", "android.net.IConnectivityManager"),
    ("content", "android.content.IContentService"),
    ("device_policy", "android.app.admin.IDevicePolicyManager"),
    ("display", "android.hardware.display.IDisplayManager"),
    ("dropbox", "com.android.internal.os.IDropBoxManagerService"),
    ("input", "android.hardware.input.IInputManager"),
    ("input_method", "com.android.internal.view.IInputMethodManager"),
    ("iphonesubinfo", "com.android.internal.telephony.IPhoneSubInfo"),
    ("isms", "com.android.internal.telephony.ISms"),
    ("jobscheduler", "android.app.job.IJobScheduler"),
    ("location", "android.location.ILocationManager"),
    ("media.camera", "android.hardware.ICameraService"),
    ("meminfo", ""),
    ("mount", "android.os.storage.IStorageManager"),
    ("netpolicy", "android.net.INetworkPolicyManager"),
    ("notification", "android.app.INotificationManager"),
    ("package", "android.content.pm.IPackageManager"),
    ("permission", "android.os.IPermissionController"),
    ("phone", "com.android.internal.telephony.ITelephony"),
    ("power", "android.os.IPowerManager"),
    ("search", "android.app.ISearchManager"),
    ("sensorservice", "android.gui.SensorServer"),
    ("settings", ""),
    ("statusbar", "com.android.internal.statusbar.IStatusBarService"),
    ("telecom", "com.android.internal.telecom.ITelecomService"),
    ("telephony.registry", "com.android.internal.telephony.ITelephonyRegistry"),
    ("uimode", "android.app.IUiModeManager"),
    ("usagestats", "android.app.usage.IUsageStatsManager"),
    ("user", "android.os.IUserManager"),
    ("vibrator_manager", "android.os.IVibratorManagerService"),
    ("wallpaper", "android.app.IWallpaperManager"),
    ("wifi", "android.net.wifi.IWifiManager"),
    ("window", "android.view.IWindowManager"),
)
SERVICE_NAMES = frozenset(name for name, _ in _SERVICES)
# Published by native daemons, so there while the framework is not.
_NATIVE: tuple[tuple[str, str], ...] = (
    ("SurfaceFlinger", "android.ui.ISurfaceComposer"),
    ("android.security.keystore", ""),
    ("installd", "android.os.IInstalld"),
    ("manager", "android.os.IServiceManager"),
    ("media.audio_flinger", "android.media.IAudioFlingerService"),
    ("netd", "android.net.INetd"),
    ("vold", "android.os.IVold"),
)
# Apps the framework starts by itself.
_PERSISTENT = (
    ("com.android.systemui", 10101),
    ("com.android.phone", 1001),
    ("com.android.networkstack.process", 1073),
    ("com.android.inputmethod.latin", 10102),
    ("android.process.acore", 10103),
    ("com.google.android.gms", 10104),
)
RESTART_S = 0.25


def framework_up(world: World) -> bool:
    return world.processes.find("system_server") is not None


def services(world: World) -> list[tuple[str, str]]:
    """What `service list` shows now."""
    return sorted(_NATIVE + _SERVICES) if framework_up(world) else sorted(_NATIVE)


def has_service(world: World, name: str) -> bool:
    """Whether a look for this service finds it now."""
    known = name in (known for known, _ in services(world))
    return known and world.faults.at("service", name) == name


def start_zygote(world: World) -> None:
    world.processes.spawn("zygote64", ROOT)
    world.processes.spawn("webview_zygote", 1053)
    world.properties.force("init.svc.zygote", "running")


def start_framework(world: World) -> None:
    """system_server and what it keeps alive; the services are there from here on."""
    zygote = world.processes.find("zygote64")
    parent = zygote.pid if zygote else 1
    server = world.processes.spawn("system_server", SYSTEM, parent)
    count = int(world.properties.get("sys.system_server.start_count") or 0) + 1
    uptime_ms = str(int(world.clock.uptime() * 1000))
    world.properties.force("sys.system_server.start_count", str(count))
    world.properties.force("sys.system_server.start_elapsed", uptime_ms)
    world.properties.force("sys.system_server.start_uptime", uptime_ms)
    world.logcat.write("SystemServer", "Entered the Android system server!", pid=server.pid)
    for name, uid in _PERSISTENT:
        package = world.packages.get(name)
        world.processes.spawn(name, package.uid if package else uid, parent)


def show_home(world: World) -> None:
    # A phone that was given no apps has nothing to show.
    if world.apps:
        world.windows.home()


def stop_framework(world: World) -> None:
    """zygote takes everything it forked with it; native daemons stay."""
    zygote = world.processes.find("zygote64")
    for process in world.processes.all():
        if zygote and process.ppid == zygote.pid:
            world.processes.end(process.pid)
    for name in ("zygote64", "webview_zygote", "system_server"):
        if process_ := world.processes.find(name):
            world.processes.end(process_.pid)
    world.windows.clear()
    world.notifications.clear()
    world.properties.force("init.svc.zygote", "restarting")
    world.logcat.write("Zygote", "Exit zygote because system server has terminated", level="E")


def run_adbd(world: World, on: bool) -> None:
    """What init does when USB debugging is switched: the daemon's process and its properties."""
    process = world.processes.find("adbd")
    if on and process is None:
        world.processes.spawn("adbd", SHELL)
    elif process is not None and not on:
        world.processes.end(process.pid)
    world.properties.force("init.svc.adbd", "running" if on else "stopped")
    for name in ("sys.usb.config", "sys.usb.state"):
        world.properties.force(name, "adb" if on else "none")


def hang_up(world: World) -> None:
    """What adbd had started when the snapshot was saved lost its host with the load."""
    adbd = world.processes.find("adbd")
    gone = {adbd.pid} if adbd else set()
    for process in world.processes.all():  # by pid, so a parent comes before its children
        if process.ppid in gone:
            gone.add(process.pid)
            world.processes.end(process.pid)


def restart_framework(world: World, after_s: float = RESTART_S) -> None:
    """system_server died: apps are gone now, and a new one comes up a moment later.

    sys.boot_completed stays 1, which is why it proves nothing about the services.
    """
    stop_framework(world)
    world.effects.later(world.noise.stretch(after_s), "framework.start")


def _framework_start(world: World, args: dict[str, Json]) -> None:
    start_zygote(world)
    start_framework(world)
    show_home(world)


EFFECTS = {"framework.start": _framework_start}
