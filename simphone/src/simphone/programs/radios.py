"""Switches of radios, location and power, as `svc` and `cmd wifi|connectivity|...` turn them."""

from __future__ import annotations

from ..world import World
from .call import Call, Program
from .framework import NO_SERVICE, needs_service
from .service_command import FAILURE, Arguments, Service

ON_OFF = {"enable": True, "disable": False, "enabled": True, "disabled": False}
# As a bit each: AC, USB, wireless.
STAY_ON = {"true": "7", "false": "0", "ac": "1", "usb": "2", "wireless": "4"}
SVC_USAGE = """Available commands:
    help     Show information about the subcommands
    power    Control the power manager
    data     Control mobile data connectivity
    wifi     Control the Wi-Fi manager
    bluetooth Control Bluetooth service
"""


def switch(world: World, name: str, *, on: bool) -> None:
    world.settings.put("global", name, "1" if on else "0")
    world.logcat.write("SettingsProvider", f"{name} is {'on' if on else 'off'}")


async def set_wifi_enabled(call: Call, arguments: Arguments) -> int:
    word = arguments.required()
    if word not in ON_OFF:
        return await call.fail(
            "Invalid args for set-wifi-enabled: expected 'enabled' or 'disabled'", FAILURE
        )
    switch(call.world, "wifi_on", on=ON_OFF[word])
    return 0


async def wifi_status(call: Call, arguments: Arguments) -> int:
    if not call.world.settings.on("global", "wifi_on"):
        await call.out("Wifi is disabled\nWifi scanning is only available when wifi is enabled\n")
        return 0
    await call.out(
        "Wifi is enabled\nWifi scanning is only available when wifi is enabled\n"
        "==== Primary ClientModeManager instance ====\n"
        'Wifi is connected to "AndroidWifi"\n'
        'WifiInfo: SSID: "AndroidWifi", BSSID: 00:13:10:85:fe:01, MAC: 02:15:b2:00:00:00, '
        "IP: /10.0.2.16, Security type: 0, Supplicant state: COMPLETED, RSSI: -50, "
        "Link speed: 11Mbps, Frequency: 2447MHz, Net ID: 0\n"
    )
    return 0


async def wifi_scan_results(call: Call, arguments: Arguments) -> int:
    if not call.world.settings.on("global", "wifi_on"):
        await call.out("No scan results\n")
        return 0
    await call.out(
        "    BSSID              Frequency      RSSI           Age(sec)     SSID"
        "                                 Flags\n"
        "  00:13:10:85:fe:01       2447    -50(0:-50)             1.104    AndroidWifi"
        "                          [ESS]\n"
    )
    return 0


WIFI = Service(
    "wifi",
    {
        "set-wifi-enabled": set_wifi_enabled,
        "status": wifi_status,
        "list-scan-results": wifi_scan_results,
    },
)


async def bluetooth_switch(call: Call, arguments: Arguments) -> int:
    switch(call.world, "bluetooth_on", on=arguments.command == "enable")
    await call.out(f"{arguments.command}: Success\n")
    return 0


async def wait_for_state(call: Call, arguments: Arguments) -> int:
    """Switching takes no time here, so a state is there or will not come."""
    wanted = arguments.required()
    on = call.world.settings.on("global", "bluetooth_on")
    reached = (wanted == "STATE_ON") == on and wanted in ("STATE_ON", "STATE_OFF")
    await call.out(f"wait-for-state: {'Success' if reached else 'Failed'}\n")
    return 0 if reached else FAILURE


BLUETOOTH = Service(
    "bluetooth_manager",
    {"enable": bluetooth_switch, "disable": bluetooth_switch, "wait-for-state": wait_for_state},
)


async def airplane_mode(call: Call, arguments: Arguments) -> int:
    word = arguments.next()
    if word is None:
        on = call.world.settings.on("global", "airplane_mode_on")
        await call.out("enabled\n" if on else "disabled\n")
        return 0
    if word not in ("enable", "disable"):
        await call.out(f"Unknown argument: {word}\n")
        return FAILURE
    switch(call.world, "airplane_mode_on", on=word == "enable")
    return 0


CONNECTIVITY = Service("connectivity", {"airplane-mode": airplane_mode})


async def location_enabled(call: Call, arguments: Arguments) -> int:
    settings = call.world.settings
    if arguments.command == "is-location-enabled":
        on = settings.get("secure", "location_mode") not in (None, "0")
        await call.out("true\n" if on else "false\n")
        return 0
    # As Boolean.parseBoolean: whatever is not true is false.
    on = arguments.required().lower() == "true"
    settings.put("secure", "location_mode", "3" if on else "0")
    return 0


LOCATION = Service(
    "location",
    {"is-location-enabled": location_enabled, "set-location-enabled": location_enabled},
)


async def svc(call: Call) -> int:
    if not await needs_service(call, "power"):
        return NO_SERVICE
    world = call.world
    match call.args:
        case ["wifi" | "data" | "bluetooth" as radio, "enable" | "disable" as word]:
            names = {"wifi": "wifi_on", "data": "mobile_data", "bluetooth": "bluetooth_on"}
            switch(world, names[radio], on=word == "enable")
            if radio == "bluetooth":
                await call.out(f"{word}: Success\n")
        case ["power", "stayon", word] if word in STAY_ON:
            world.settings.put("global", "stay_on_while_plugged_in", STAY_ON[word])
        case ["power", "reboot", *_]:
            world.control.reboot()
        case ["power", "shutdown"]:
            world.control.power_off()
        case ["power", "forcesuspend"]:
            world.windows.awake = False
        case _:
            await call.err(SVC_USAGE)
            return 0
    return 0


PROGRAMS: dict[str, Program] = {"svc": svc}
