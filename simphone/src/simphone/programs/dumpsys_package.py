"""What do the package and notification managers say of themselves?"""

from __future__ import annotations

from datetime import UTC, datetime

from ..services.notifications import Notification
from ..services.packages import Package
from ..world import World
from .dumpsys_window import flag, token
from .intents import LAUNCHER, MAIN, main_activity, short
from .permissions import INSTALL

IMPORTANCE = 3


def stamp(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def resolver(world: World, name: str) -> str:
    activity = main_activity(world, name)
    if activity is None:
        return ""
    component = short(name, activity)
    return (
        "Activity Resolver Table:\n  Non-Data Actions:\n"
        f"      {MAIN}:\n"
        f"        {token(component)} {component} filter {token('filter', component)}\n"
        f'          Action: "{MAIN}"\n          Category: "{LAUNCHER}"\n\n'
    )


def details(package: Package) -> str:
    folder = package.path.rpartition("/")[0]
    at_install = [p for p in package.permissions if p in INSTALL]
    runtime = [p for p in package.permissions if p not in INSTALL]
    system = "SYSTEM " if package.system else ""
    lines = [
        f"  Package [{package.name}] ({token(package.name)}):",
        f"    appId={package.uid}",
        f"    pkg=Package{{{token('pkg', package.name)} {package.name}}}",
        f"    codePath={folder}",
        f"    resourcePath={folder}",
        f"    legacyNativeLibraryDir={folder}/lib",
        "    extractNativeLibs=false",
        "    primaryCpuAbi=null",
        "    secondaryCpuAbi=null",
        f"    versionCode={package.version_code} minSdk={package.min_sdk} targetSdk=34",
        f"    versionName={package.version_name}",
        "    usesNonSdkApi=false",
        "    splits=[base]",
        "    apkSigningVersion=3",
        f"    flags=[ {system}HAS_CODE ALLOW_CLEAR_USER_DATA ALLOW_BACKUP ]",
        f"    dataDir=/data/user/0/{package.name}",
        "    supportsScreens=[small, medium, large, xlarge, resizeable, anyDensity]",
        f"    timeStamp={stamp(package.installed_ms)}",
        f"    lastUpdateTime={stamp(package.installed_ms)}",
        f"    installerPackageName={package.installer or 'null'}",
        "    requested permissions:",
        *(f"      {name}" for name in package.permissions),
        "    install permissions:",
        *(f"      {name}: granted=true" for name in at_install),
        (
            "    User 0: ceDataInode=0 deDataInode=0 installed=true hidden=false suspended=false "
            "distractionFlags=0 stopped=false notLaunched=false "
            f"enabled={0 if package.enabled else 3} instant=false virtual=false quarantined=false"
        ),
        f"      firstInstallTime={stamp(package.installed_ms)}",
        "      gids=[]",
        "      runtime permissions:",
        *(
            f"        {name}: granted={flag(name in package.granted)}, "
            "flags=[ USER_SENSITIVE_WHEN_GRANTED|USER_SENSITIVE_WHEN_DENIED]"
            for name in runtime
        ),
    ]
    return "".join(line + "\n" for line in lines)


def package(world: World, args: list[str]) -> str:
    words = [arg for arg in args if not arg.startswith("-")]
    if words[:1] in (["packages"], ["package"], ["p"]):
        words = words[1:]
    if not words:
        return "Packages:\n" + "".join(details(each) for each in world.packages.all())
    found = world.packages.get(words[0])
    if found is None:
        return f"Unable to find package: {words[0]}\n"
    return resolver(world, found.name) + "Packages:\n" + details(found) + "\nQueries:\n"


def notification(world: World, args: list[str]) -> str:
    open_ = "--noredact" in args
    posted = world.notifications.all()
    text = "Current Notification Manager state:\n  Notification List:\n"
    text += "".join(record(each, uid(each), open_=open_) for each in posted)
    zen = world.settings.get("global", "zen_mode") or "0"
    return text + (
        f"\n  mArchive=Archive (0 notifications)\n\n  Zen Mode:\n    mInterruptionFilter=1\n"
        f"    mZenMode={'ZEN_MODE_OFF' if zen == '0' else 'ZEN_MODE_IMPORTANT_INTERRUPTIONS'}\n"
    )


def uid(posted: Notification) -> str:
    return posted.key.rpartition("|")[2]


def extra(name: str, value: str, *, open_: bool) -> str:
    return (
        f"          {name}=String " + (f"({value})" if open_ else f"[length={len(value)}]") + "\n"
    )


def channel(posted: Notification) -> str:
    return "shell_cmd" if posted.package == "com.android.shell" else "default"


def described(posted: Notification) -> str:
    """What a notification's toString says."""
    return (
        f"Notification(channel={channel(posted)} shortcut=null contentView=null vibrate=null "
        "sound=null defaults=0x0 flags=0x0 color=0x00000000 vis=PRIVATE)"
    )


def record(posted: Notification, owner: str, *, open_: bool) -> str:
    tag = posted.tag or "null"
    pending = f"PendingIntent{{{token(posted.key)}: PendingIntentRecord}}"
    target = pending if posted.activity else "null"
    return (
        f"    NotificationRecord(0x{int(token(posted.key), 16):08x}: pkg={posted.package} "
        f"user=UserHandle{{0}} id={posted.id} tag={tag} importance={IMPORTANCE} "
        f"key={posted.key}: {described(posted)})\n"
        f"      uid={owner} userId=0\n      opPkg={posted.package}\n"
        "      icon=Icon(typ=RESOURCE pkg=android id=0x0108077f)\n      flags=0x0\n      pri=0\n"
        f"      key={posted.key}\n      seen=false\n      groupKey={posted.key}\n"
        "      notification=\n        fullscreenIntent=null\n"
        f"        contentIntent={target}\n"
        "        deleteIntent=null\n        number=0\n        groupAlertBehavior=0\n"
        f"        when={posted.posted_ms}\n        tickerText=null\n        contentView=null\n"
        "        color=0x00000000\n        timeout=0\n        extras={\n"
        + extra("android.title", posted.title, open_=open_)
        + extra("android.text", posted.text, open_=open_)
        + "          android.showWhen=Boolean (true)\n        }\n"
        f"      mImportance=DEFAULT\n      mChannelId={channel(posted)}\n"
        f"      mCreationTimeMs={posted.posted_ms}\n"
    )
