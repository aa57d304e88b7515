"""`am`, which is `cmd activity`: starts, stops and tells apps."""

from __future__ import annotations

from dataclasses import dataclass

from ..ui.screen import HOME, Intent
from ..world import World
from .broadcasts import RECEIVERS
from .call import Call, Program
from .intents import (
    FROM_SHELL,
    LAUNCHER,
    MAIN,
    NEW_TASK,
    Asked,
    long,
    read_intent,
    short,
    spelled,
)
from .service_command import FAILURE, Arguments, Service, nothing

USAGE = """Activity manager (activity) commands:
  help
      Print this help text.
  start-activity [-D] [-N] [-W] [-P <FILE>] [--start-profiler <FILE>] [-R COUNT] [-S]
          [--user <USER_ID> | current] <INTENT>
      Start an Activity.
  start-service [--user <USER_ID> | current] <INTENT>
  start-foreground-service [--user <USER_ID> | current] <INTENT>
  stop-service [--user <USER_ID> | current] <INTENT>
  broadcast [--user <USER_ID> | all | current] [--receiver-permission <PERMISSION>] <INTENT>
  force-stop [--user <USER_ID> | all | current] <PACKAGE>
  kill [--user <USER_ID> | all | current] <PACKAGE>
  kill-all
  stack list
  task list
  get-current-user
"""
# Options of am's own that take a word, and those that do not.
VALUED = (
    "--user", "--display", "--windowingMode", "--activityType", "-R", "-P", "--task",
    "--start-profiler", "--receiver-permission",
)  # fmt: skip
FLAGS = ("-W", "-D", "-N", "-S", "--track-allocation", "--lock-task", "--async", "--streaming",
         "--ephemeral", "--task-overlay", "--dismiss-keyguard-if-insecure",
         "--dismiss-keyguard")  # fmt: skip
BROUGHT = "Warning: Activity not started, its current task has been brought to the front"
DELIVERED = (
    "Warning: Activity not started, intent has been delivered to currently running "
    "top-most instance."
)
# Milliseconds a start takes, as -W tells it.
TOTAL_MS = {"COLD": 412, "WARM": 148, "HOT": 61}


@dataclass(frozen=True)
class Started:
    """What a start came to."""

    component: str  # package/.Activity
    state: str  # COLD | WARM | HOT, or empty where nothing was started
    warning: str = ""


def read(arguments: Arguments) -> tuple[Asked, set[str]]:
    options: set[str] = set()

    def own(word: str, rest: Arguments) -> bool:
        options.add(word)
        if word in VALUED:
            rest.required()
        return word in VALUED or word in FLAGS

    return read_intent(arguments, own), options


def launch(world: World, asked: Asked) -> Started | None:
    """Brings up what answers; None where nothing does."""
    intent = asked.intent
    if LAUNCHER in asked.categories and intent.package and not asked.by_component:
        # A front door is asked for by name, so that an open app is resumed where it was.
        intent = Intent(intent.action or MAIN, package=intent.package, extras=intent.extras)
    windows = world.windows
    found = windows.answering(intent)
    if found is None:
        return None
    package, screen = found
    running = world.processes.find(package) is not None
    before = next((task for task in windows.tasks if task.package == package), None)
    in_front = before is not None and windows.tasks[-1] is before
    depth = len(before.screens) if before else 0
    resumes = intent.action in ("", MAIN) and not intent.activity
    component = short(*windows.show(package, screen, resumes=resumes).split("/", 1))
    windows.awake = True
    if before is not None and len(before.screens) == depth:
        return Started(component, "HOT", DELIVERED if in_front else BROUGHT)
    return Started(component, "WARM" if running else "COLD")


async def start(call: Call, arguments: Arguments) -> int:
    asked, options = read(arguments)
    intent, world = asked.intent, call.world
    wait = "-W" in options
    tell = call.out if wait else call.err
    if not (intent.action or intent.data or intent.package or asked.categories):
        return await call.fail("Error: No intent supplied", FAILURE)
    if "-S" in options and intent.package:
        await call.out(f"Stopping: {intent.package}\n")
        world.windows.stop_package(intent.package)
    await call.out(f"Starting: {spelled(asked)}\n")
    began = world.clock.uptime()
    started = launch(world, asked)
    if started is None:
        if asked.by_component:
            component = long(intent.package, intent.activity)
            await tell(f"Error type 3\nError: Activity class {{{component}}} does not exist.\n")
        else:
            text = spelled(asked, NEW_TASK)
            await tell(f"Error: Activity not started, unable to resolve {text}\n")
        return 0
    if started.warning:
        await tell(started.warning + "\n")
    if wait:
        await world.noise.lag()
        total = TOTAL_MS[started.state]
        waited = total + 3 + int((world.clock.uptime() - began) * 1000)
        await call.out(
            f"Status: ok\nLaunchState: {started.state}\nActivity: {started.component}\n"
            f"TotalTime: {total}\nWaitTime: {waited}\nComplete\n"
        )
    return 0


async def start_service(call: Call, arguments: Arguments) -> int:
    """Services do nothing that can be seen here; the package must at least be there."""
    asked, _ = read(arguments)
    foreground = "foreground" in arguments.command
    await call.out(f"Starting {'foreground ' if foreground else ''}service: {spelled(asked)}\n")
    package = asked.intent.package
    installed = call.world.packages.get(package)
    if installed is None or not asked.by_component:
        return await call.fail("Error: Not found; no service started.", FAILURE)
    call.world.processes.ensure(package, installed.uid)
    return 0


async def stop_service(call: Call, arguments: Arguments) -> int:
    asked, _ = read(arguments)
    await call.out(f"Stopping service: {spelled(asked)}\n")
    if call.world.packages.get(asked.intent.package) is None:
        return await call.fail("Service not stopped: was not running.", FAILURE)
    await call.out("Service stopped\n")
    return 0


async def broadcast(call: Call, arguments: Arguments) -> int:
    asked, options = read(arguments)
    await call.out(f"Broadcasting: {spelled(asked, FROM_SHELL)}\n")
    receiver = RECEIVERS.get(asked.intent.action)
    if receiver is not None:
        receiver(call.world, asked.intent)
    if "--async" not in options:
        await call.out("Broadcast completed: result=0\n")
    return 0


async def force_stop(call: Call, arguments: Arguments) -> int:
    """`force-stop`, `stop-app` and `kill`; a package that nobody knows is stopped already."""
    while arguments.option() is not None:
        arguments.required()
    package = arguments.required()
    front = call.world.windows.front()
    # kill ends only what is in the background and safe to end.
    if arguments.command != "kill" or not (front and front[0] == package):
        call.world.windows.stop_package(package)
    if not call.world.windows.tasks:
        call.world.windows.home()
    return 0


async def kill_all(call: Call, arguments: Arguments) -> int:
    front = call.world.windows.front()
    for app in call.world.apps:
        process = call.world.processes.find(app)
        if process is not None and app != HOME and not (front and front[0] == app):
            call.world.processes.end(process.pid)
    return 0


async def stack(call: Call, arguments: Arguments) -> int:
    """`stack list`, `task list`: the tasks, the front one first."""
    word = arguments.required()
    if word != "list":
        return await call.fail(f"Error: unknown command '{word}'", FAILURE)
    world = call.world
    for task in reversed(world.windows.tasks):
        top = short(task.package, task.screens[-1].activity)
        shown = "true" if task is world.windows.tasks[-1] else "false"
        await call.out(
            f"RootTask id={task.id} bounds=[0,0][1080,2400] displayId=0 userId=0\n"
            f"  taskId={task.id}: {long(task.package, task.screens[0].activity)} "
            f"bounds=[0,0][1080,2400] userId=0 visible={shown} topActivity=ComponentInfo"
            f"{{{long(*top.split('/', 1))}}}\n\n"
        )
    return 0


async def get_current_user(call: Call, arguments: Arguments) -> int:
    await call.out("0\n")
    return 0


SERVICE = Service(
    "activity",
    {
        "start": start,
        "start-activity": start,
        "startservice": start_service,
        "start-service": start_service,
        "startforegroundservice": start_service,
        "start-foreground-service": start_service,
        "stopservice": stop_service,
        "stop-service": stop_service,
        "broadcast": broadcast,
        "force-stop": force_stop,
        "stop-app": force_stop,
        "kill": force_stop,
        "kill-all": kill_all,
        "stack": stack,
        "task": stack,
        "get-current-user": get_current_user,
        "idle-maintenance": nothing,
        "set-debug-app": nothing,
        "clear-debug-app": nothing,
        "wait-for-broadcast-idle": nothing,
    },
    USAGE,
)


PROGRAMS: dict[str, Program] = {"am": SERVICE}
