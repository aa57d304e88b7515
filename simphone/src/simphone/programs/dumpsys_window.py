"""What do the window and activity managers say of themselves?"""

from __future__ import annotations

import zlib

from ..processes import SYSTEM
from ..ui import theme
from ..ui.node import DENSITY, HEIGHT, WIDTH
from ..ui.screen import HOME, Task
from ..world import World
from .intents import long, short


def token(*parts: object) -> str:
    """The short hash that Android prints for an object: the same for the same thing."""
    return f"{zlib.crc32(repr(parts).encode()) & 0xFFFFFFF:x}"


def flag(value: object) -> str:
    return "true" if value else "false"


def window_record(world: World, name: str) -> str:
    task = world.windows.tasks[-1].id if world.windows.tasks and "/" in name else 0
    return f"Window{{{token(world.boot_id, name, task)} u0 {name}}}"


def activity_record(task: Task, index: int = -1) -> str:
    name = short(task.package, task.screens[index].activity)
    at = index % len(task.screens)
    return f"ActivityRecord{{{token(task.id, at, name)} u0 {name} t{task.id}}}"


def task_record(world: World, task: Task) -> str:
    kind = "home" if task.package == HOME else "standard"
    shown = flag(task is world.windows.tasks[-1])
    return (
        f"Task{{{token(task.id, task.package)} #{task.id} type={kind} "
        f"A={uid(world, task.package)}:{task.package} U=0 visible={shown} "
        f"visibleRequested={shown} mode=fullscreen translucent=false sz={len(task.screens)}}}"
    )


def uid(world: World, package: str) -> int:
    installed = world.packages.get(package)
    return installed.uid if installed else SYSTEM


def process_record(world: World, package: str) -> str:
    process = world.processes.find(package)
    user = uid(world, package)
    who = f"u0a{user - 10000}" if user >= 10000 else str(user)
    return f"ProcessRecord{{{token(package)} {process.pid if process else 0}:{package}/{who}}}"


def focus(world: World) -> str:
    name = world.windows.focus_name()
    return window_record(world, name) if name else "null"


def focused_app(world: World) -> str:
    tasks = world.windows.tasks
    return activity_record(tasks[-1]) if tasks else "null"


def policy(world: World) -> str:
    on = world.windows.awake
    awake = flag(on)
    return (
        "WINDOW MANAGER POLICY STATE (dumpsys window policy)\n"
        "    mSafeMode=false mSystemReady=true mSystemBooted=true\n"
        "    mCameraLensCoverState=CAMERA_LENS_COVER_ABSENT\n"
        f"    mWakeGestureEnabledSetting=true\n    mAwake={awake}\n"
        f"    mScreenOnEarly={awake} mScreenOnFully={awake}\n"
        "    mKeyguardDrawComplete=true mWindowManagerDrawComplete=true\n"
        "    KeyguardServiceDelegate\n      showing=false\n      showingAndNotOccluded=false\n"
        "      inputRestricted=false\n      occluded=false\n      secure=false\n"
        f"      dreaming=false\n      systemIsReady=true\n      deviceHasKeyguard=true\n"
        "      enabled=true\n"
        f"      interactiveState=INTERACTIVE_STATE_{'AWAKE' if on else 'SLEEP'}\n"
        f"      screenState=SCREEN_STATE_{'ON' if on else 'OFF'}\n"
    )


def displays(world: World) -> str:
    size, app = f"{WIDTH}x{HEIGHT}", f"{WIDTH}x{HEIGHT - theme.NAV_BAR}"
    forced = (world.settings.get("global", "display_size_forced") or "").replace(",", "x")
    return (
        "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n"
        "  Display: mDisplayId=0 (organized)\n"
        f"    init={size} {DENSITY}dpi mMinSizeOfResizeableTaskDp=220 cur={forced or size} "
        f"app={app} rng={app}-{HEIGHT}x{HEIGHT}\n"
        "    deferred=false mLayoutNeeded=false\n"
        "    mLayoutSeq=42\n    DisplayRotation\n      mRotation=ROTATION_0\n"
        f"  mCurrentFocus={focus(world)}\n  mFocusedApp={focused_app(world)}\n\n"
    )


def window_list(world: World) -> str:
    layers = list(reversed(world.windows.layers()))
    text = "WINDOW MANAGER WINDOWS (dumpsys window windows)\n"
    for number, window in enumerate(layers):
        left, top, right, bottom = window.root.bounds
        owner = window.package or "com.android.inputmethod.latin"
        text += (
            f"  Window #{number} {window_record(world, window.name)}:\n"
            f"    mDisplayId=0 mSession=Session{{{token(owner)} 0:{uid(world, owner)}}} "
            f"mClient=android.os.BinderProxy@{token(window.name)}\n"
            f"    mOwnerUid={uid(world, owner)} showForAllUsers=false package={owner} appop=NONE\n"
            f"    mFrame=[{left},{top}][{right},{bottom}]\n"
            "    mHasSurface=true isReadyForDisplay()=true\n"
            "    isOnScreen=true\n    isVisible=true\n"
        )
    target = focus(world)
    shown = world.windows.typing() is not None
    return text + (
        f"\n  mGlobalConfiguration={{1.0 310mcc260mnc [en_US] ldltr sw411dp w411dp h866dp "
        f"{DENSITY}dpi nrml long port finger -keyb/v/h -nav/h}}\n"
        f"  mHasPermanentDpad=false\n  mTopFocusedDisplayId=0\n"
        f"  imeLayeringTarget in display# 0 {target}\n  imeInputTarget in display# 0 {target}\n"
        f"  imeControlTarget in display# 0 {target}\n  mInputMethodTarget in display# 0 {target}\n"
        f"  mInputMethodWindow={window_record(world, 'InputMethod') if shown else 'null'}\n"
        "  mSystemBooted=true mDisplayEnabled=true\n\n"
    )


def window(world: World, args: list[str]) -> str:
    sections = {"policy": policy, "p": policy, "displays": displays, "d": displays,
                "windows": window_list, "w": window_list, "visible": window_list}  # fmt: skip
    words = [arg for arg in args if not arg.startswith("-")]
    if words and words[0] in sections:
        return sections[words[0]](world)
    if words and words[0] not in ("all", "a"):
        shown = [w for w in world.windows.layers() if words[0] in w.name]
        return (
            window_list(world)
            if shown
            else f"Bad window command, or no windows match: {words[0]}\n"
        )
    return policy(world) + "\n" + displays(world) + window_list(world)


def activities(world: World) -> str:
    tasks = world.windows.tasks
    text = (
        "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\n"
        "Display #0 (activities from top to bottom):\n"
    )
    for task in reversed(tasks):
        front = task is tasks[-1]
        text += f"  * {task_record(world, task)}\n    mBounds=Rect(0, 0 - 0, 0)\n"
        if front:
            text += f"    topResumedActivity={activity_record(task)}\n"
        for index in reversed(range(len(task.screens))):
            name = long(task.package, task.screens[index].activity)
            top = index == len(task.screens) - 1
            state = "RESUMED" if front and top else "STOPPED"
            text += (
                f"    * Hist  #{index}: {activity_record(task, index)}\n"
                f"      packageName={task.package} processName={task.package}\n"
                f"      app={process_record(world, task.package)}\n"
                f"      Intent {{ flg=0x10000000 cmp={short(*name.split('/', 1))} }}\n"
                f"      mActivityComponent={short(*name.split('/', 1))}\n"
                f"      state={state} visible={flag(front and top)} "
                f"visibleRequested={flag(front and top)} finishing=false\n"
            )
        text += "\n"
    if tasks:
        resumed = activity_record(tasks[-1])
        text += (
            "  Resumed activities in task display areas (from top to bottom):\n"
            f"    Resumed: {resumed}\n\n  ResumedActivity: {resumed}\n\n"
        )
    focused = task_record(world, tasks[-1]) if tasks else "null"
    return text + (
        f"ActivityTaskSupervisor state:\n  topDisplayFocusedRootTask={focused}\n"
        "  mCurTaskIdForUser={0=" + str(max((t.id for t in tasks), default=0)) + "}\n"
        "  KeyguardController:\n    mKeyguardShowing=false\n    mAodShowing=false\n"
        "    mKeyguardGoingAway=false\n"
    )


def top(world: World) -> str:
    front = world.windows.front()
    if front is None:
        return ""
    task = world.windows.tasks[-1]
    process = world.processes.find(front[0])
    name = short(front[0], front[1].activity)
    return (
        f"TASK {uid(world, task.package)}:{task.package} id={task.id} userId=0\n"
        f"  ACTIVITY {name} {token(task.id, name)} pid={process.pid if process else 0}\n"
        f"    Local Activity {token(name)} State:\n"
        "      mResumed=true mStopped=false mFinished=false\n"
    )


def recents(world: World) -> str:
    text = "ACTIVITY MANAGER RECENT TASKS (dumpsys activity recents)\n  mRecentsUid=10101\n"
    text += "  mRecentsComponent=ComponentInfo{" + f"{HOME}/{HOME}.RecentsActivity" + "}\n\n"
    for number, task in enumerate(reversed(world.windows.tasks)):
        text += (
            f"  * Recent #{number}: {task_record(world, task)}\n"
            f"    realActivity={{{long(task.package, task.screens[0].activity)}}}\n"
        )
    return text


def processes(world: World) -> str:
    text = "ACTIVITY MANAGER RUNNING PROCESSES (dumpsys activity processes)\n"
    text += "  All known processes:\n"
    for process in world.processes.all():
        if process.name in world.apps or world.packages.get(process.name):
            text += f"  *APP* UID {process.uid} {process_record(world, process.name)}\n"
            text += f"    pid={process.pid}\n"
    return text + "\n  mHomeProcess: " + process_record(world, HOME) + "\n"


def running_services(world: World) -> str:
    return "ACTIVITY MANAGER SERVICES (dumpsys activity services)\n  (nothing)\n"


def broadcasts(world: World) -> str:
    title = "ACTIVITY MANAGER BROADCAST STATE (dumpsys activity broadcasts)\n"
    return title + "  Historical broadcasts: (nothing)\n"


def activity(world: World, args: list[str]) -> str:
    sections = {
        "activities": activities, "a": activities, "top": top, "recents": recents, "r": recents,
        "processes": processes, "p": processes,
        "services": running_services, "s": running_services, "broadcasts": broadcasts,
        "b": broadcasts,
    }  # fmt: skip
    words = [arg for arg in args if not arg.startswith("-")]
    if words and words[0] in sections:
        return sections[words[0]](world)
    if words:
        return f"Bad activity command, or no activities match: {words[0]}\n"
    rule = "-" * 79 + "\n"
    return rule.join(
        sections[name](world)
        for name in ("broadcasts", "services", "recents", "activities", "processes")
    )
