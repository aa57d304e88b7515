"""What do the services say that stand for hardware: battery, radios, displays, memory?"""

from __future__ import annotations

from .. import procfs
from ..services import battery as battery_state
from ..ui.node import DENSITY, HEIGHT, WIDTH
from ..world import World
from . import ime
from .dumpsys_window import flag, focus, focused_app, token

# BatteryManager's BATTERY_STATUS_*.
CHARGING, DISCHARGING = 2, 3


def battery(world: World, args: list[str]) -> str:
    plugged = battery_state.plugged(world.properties)
    level = battery_state.level(world.properties)
    return f"""Current Battery Service state:
  AC powered: {flag(plugged)}
  USB powered: false
  Wireless powered: false
  Dock powered: false
  Max charging current: 0
  Max charging voltage: 0
  Charge counter: {level * 100}
  status: {CHARGING if plugged else DISCHARGING}
  health: 2
  present: true
  level: {level}
  scale: 100
  voltage: 5000
  temperature: 250
  technology: Li-ion
"""


def wifi_on(world: World) -> bool:
    return world.settings.on("global", "wifi_on")


def mobile_on(world: World) -> bool:
    settings = world.settings
    return settings.on("global", "mobile_data") and not settings.on("global", "airplane_mode_on")


def connectivity(world: World, args: list[str]) -> str:
    networks = []
    if wifi_on(world):
        networks.append((100, "WIFI", 'SSID: "AndroidWifi"', "wlan0", "10.0.2.16/24"))
    if mobile_on(world):
        networks.append((101, "MOBILE[LTE]", "extra: epc.tmobile.com", "radio0", "10.0.2.15/24"))
    active = str(networks[0][0]) if networks else "none"
    rows = "".join(
        f"  NetworkAgentInfo{{network{{{number}}}  handle{{{number * 4294967296 + 3405697037}}}  "
        f"ni{{{kind} CONNECTED {extra}}} Score(60) created everValidated lastValidated "
        f"lp{{{{InterfaceName: {link} LinkAddresses: [ {address} ] "
        "DnsAddresses: [ /10.0.2.3 ] }} "
        f"nc{{[ Transports: {kind.split('[')[0].replace('MOBILE', 'CELLULAR')} "
        "Capabilities: INTERNET&NOT_RESTRICTED&TRUSTED&VALIDATED ]}  }\n"
        for number, kind, extra, link, address in networks
    )
    airplane = flag(world.settings.on("global", "airplane_mode_on"))
    return (
        f"Active default network: {active}\n\nCurrent network preferences: {{}}\n\n"
        f"Current Networks:\n{rows}\nStatus for known UIDs:\n\nmAirplaneMode={airplane}\n"
    )


def telephony_registry(world: World, args: list[str]) -> str:
    telephony = world.telephony
    state = telephony.call_state
    ringing = telephony.call.number if telephony.call and telephony.call.incoming else ""
    on = telephony.radio_on
    service = "0(IN_SERVICE)" if on else "3(POWER_OFF)"
    data = 2 if on and mobile_on(world) else 0
    return (
        "last known state:\n  Phone Id=0\n"
        f"    mCallState={state}\n    mRingingCallState={1 if state == 1 else 0}\n"
        f"    mForegroundCallState={1 if state == 2 else 0}\n    mBackgroundCallState=0\n"
        f"    mPreciseCallState=Ringing call state: {1 if state == 1 else 0}\n"
        f"    mCallIncomingNumber={ringing}\n"
        f"    mServiceState={{mVoiceRegState={service}, mDataRegState={service}, "
        "mOperatorAlphaLong=T-Mobile, mOperatorNumeric=310260, isManualNetworkSelection=false}\n"
        "    mSignalStrength=SignalStrength:{mLte=CellSignalStrengthLte: "
        f"level={4 if on else 0}}}\n"
        f"    mMessageWaiting=false\n    mCallForwarding=false\n    mDataActivity=0\n"
        f"    mDataConnectionState={data}\n    mUserMobileDataState={flag(mobile_on(world))}\n"
        "local logs:\n"
    )


def input_method(world: World, args: list[str]) -> str:
    shown = flag(world.windows.typing() is not None)
    current = ime.current(world)
    methods = "".join(
        f"    InputMethod #{n}:\n      {each}\n" for n, each in enumerate(ime.enabled(world))
    )
    return (
        f"Current Input Method Manager state:\n  Input Methods: mMethodMapUpdateCount=1\n{methods}"
        f"  mCurMethodId={current}\n  mCurClient=null mCurSeq=1\n"
        f"  mFocusedWindow={focus(world)}\n  mCurId={current} mHaveConnection=true "
        f"mBoundToMethod=true mVisibleBound={shown}\n"
        f"  mCurToken=android.os.Binder@{token(current)}\n  mShowRequested={shown} "
        f"mShowExplicitlyRequested=false mShowForced=false mInputShown={shown}\n"
        f"  mInFullscreenMode=false\n  mSystemReady=true mInteractive={flag(world.windows.awake)}\n"
        f"  mImeWindowVis={3 if shown == 'true' else 0}\n"
    )


def display(world: World, args: list[str]) -> str:
    on = "ON" if world.windows.awake else "OFF"
    shape = f"{WIDTH} x {HEIGHT}"
    return (
        "DISPLAY MANAGER (dumpsys display)\n  mSafeMode=false\n\nDisplay Devices: size=1\n"
        f'  DisplayDeviceInfo{{"Built-in Screen": uniqueId="local:4619827259835644672", {shape}, '
        f"density {DENSITY}, {DENSITY}.0 x {DENSITY}.0 dpi, state {on}, type INTERNAL}}\n\n"
        "Logical Displays: size=1\n  Display 0:\n    mDisplayId=0\n"
        f'    mBaseDisplayInfo=DisplayInfo{{"Built-in Screen", displayId 0, real {shape}, '
        f"rotation 0, state {on}}}\n    mViewports=[DisplayViewport{{type=INTERNAL, valid=true, "
        f"displayId=0, orientation=0, logicalFrame=Rect(0, 0 - {WIDTH}, {HEIGHT})}}]\n"
        f"\nDisplay Power Controller:\n  mScreenState={on}\n"
        f"  mScreenBrightness={world.settings.get('system', 'screen_brightness') or 102}\n"
    )


def power(world: World, args: list[str]) -> str:
    awake = "Awake" if world.windows.awake else "Asleep"
    stay = world.settings.get("global", "stay_on_while_plugged_in") or "0"
    return (
        "POWER MANAGER (dumpsys power)\n\nPower Manager State:\n"
        f"  mWakefulness={awake}\n  mWakefulnessChanging=false\n  mIsPowered=true\n"
        f"  mPlugType=1\n  mBatteryLevel=100\n  mStayOnWhilePluggedInSetting={stay}\n"
        f"  mHoldingDisplaySuspendBlocker={flag(world.windows.awake)}\n"
        f"\nDisplay Power: state={'ON' if world.windows.awake else 'OFF'}\n"
    )


def input_(world: World, args: list[str]) -> str:
    return (
        "INPUT MANAGER (dumpsys input)\n\nInput Manager State:\n  Interactive: "
        f"{flag(world.windows.awake)}\n  System UI Lights Out: false\n\nInput Dispatcher State:\n"
        f"  DispatchEnabled: true\n  FocusedDisplayId: 0\n  FocusedApplications:\n"
        f"    displayId=0, name='{focused_app(world)}', dispatchingTimeout=5000ms\n"
        f"  FocusedWindows:\n    displayId=0, name='{focus(world)}'\n"
        "\nInput Reader State:\n  Device 1: virtio_input_multi_touch_1\n"
        f"    SurfaceOrientation: 0\n    Viewport INTERNAL: displayId=0, orientation=0, "
        f"logicalFrame=[0, 0, {WIDTH}, {HEIGHT}]\n"
    )


def wifi(world: World, args: list[str]) -> str:
    on = wifi_on(world)
    info = (
        'mWifiInfo SSID: "AndroidWifi", BSSID: 00:13:10:85:fe:01, MAC: 02:15:b2:00:00:00, '
        "IP: /10.0.2.16, Supplicant state: COMPLETED, RSSI: -50, Link speed: 11Mbps, Frequency: "
        "2447MHz, Net ID: 0\n"
        if on
        else "mWifiInfo SSID: <unknown ssid>, BSSID: <none>, Supplicant state: DISCONNECTED\n"
    )
    return f"Wi-Fi is {'enabled' if on else 'disabled'}\nVerbose logging is off\n{info}"


def bluetooth(world: World, args: list[str]) -> str:
    on = world.settings.on("global", "bluetooth_on")
    return (
        f"Bluetooth Status\n  enabled: {flag(on)}\n  state: {'ON' if on else 'OFF'}\n"
        "  address: 3C:5A:B4:01:02:03\n  name: sdk_gphone64_x86_64\n"
    )


def location(world: World, args: list[str]) -> str:
    on = flag(world.settings.get("secure", "location_mode") not in (None, "0"))
    return (
        "Location Manager State:\n  User Info:\n    running users: u[0]\n"
        f"  Location Setting: {on}\n"
    )


def clipboard(world: World, args: list[str]) -> str:
    """Says that there is something, never what."""
    return f"Clipboard Manager:\n  User 0: {'1 item' if world.clipboard.text else 'empty'}\n"


def alarm(world: World, args: list[str]) -> str:
    return (
        f"Current Alarm Manager state:\n  nowRTC={world.clock.now_ms()}\n"
        f"  nowELAPSED={int(world.clock.uptime() * 1000)}\n  0 pending alarms:\n"
    )


def appops(world: World, args: list[str]) -> str:
    return "Current AppOps Service state:\n  Settings:\n    top_state_settle_time=+5s0ms\n"


def audio(world: World, args: list[str]) -> str:
    ring = world.settings.get("system", "volume_ring") or "5"
    music = world.settings.get("system", "volume_music") or "5"
    return f"Stream volumes:\n- STREAM_RING: {ring}\n- STREAM_MUSIC: {music}\n"


def meminfo(world: World, args: list[str]) -> str:
    words = [arg for arg in args if not arg.startswith("-")]
    up = int(world.clock.uptime() * 1000)
    head = f"Applications Memory Usage (in Kilobytes):\nUptime: {up} Realtime: {up}\n\n"
    if not words:
        rows = [p for p in world.processes.all() if world.packages.get(p.name)]
        table = "".join(
            f"    {64_000 - n * 900:,}K: {p.name} (pid {p.pid})\n" for n, p in enumerate(rows)
        )
        total = procfs.memory(world)["MemTotal"]
        return f"{head}Total PSS by process:\n{table}\nTotal RAM: {total:,}K (status normal)\n"
    process = world.processes.find(words[0])
    if process is None:
        return f"No process found for: {words[0]}\n"
    return (
        f"{head}** MEMINFO in pid {process.pid} [{process.name}] **\n App Summary\n"
        "           Java Heap:    12004                          18964\n"
        "         Native Heap:     8216                          10128\n"
        "           TOTAL PSS:    41236            TOTAL RSS:    98544\n"
    )


def cpuinfo(world: World, args: list[str]) -> str:
    rows = "".join(
        f"  0.{9 - n}% {p.pid}/{p.name}: 0.{8 - n}% user + 0.1% kernel\n"
        for n, p in enumerate(world.processes.all()[:8])
    )
    return f"Load: 0.08 / 0.03 / 0.01\nCPU usage from 60000ms to 0ms ago:\n{rows}1.2% TOTAL\n"


def surface_flinger(world: World, args: list[str]) -> str:
    if "--latency" in args:
        return "16666666\n"
    if "--list" in args:
        return "".join(f"{window.name}#{n}\n" for n, window in enumerate(world.windows.layers()))
    return (
        "Build configuration: [sf]\n"
        f"Display 4619827259835644672 (HWC display 0): {WIDTH}x{HEIGHT}\n"
    )


def gfxinfo(world: World, args: list[str]) -> str:
    up = int(world.clock.uptime() * 1000)
    return f"Applications Graphics Acceleration Info:\nUptime: {up} Realtime: {up}\n"
