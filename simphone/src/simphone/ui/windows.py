"""The window manager: tasks and their back stacks, what lies over them, and what is in front."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from .. import crash
from ..processes import SYSTEM
from ..state import Json
from .frame import Window, composed
from .node import SCREEN, Fill, Node
from .screen import HOME, SYSTEM_UI, Intent, Screen, Task

if TYPE_CHECKING:
    from ..world import World

MAIN = "android.intent.action.MAIN"


class Windows:
    def __init__(self, world: World) -> None:
        self._world = world
        self.tasks: list[Task] = []  # the last one is in front
        self.shade = False
        self.prompt: tuple[str, Screen] | None = None  # a system dialog: whose, and its state
        self.not_responding = ""  # the package in an ANR window
        self.stopped = ""  # the package that died, while its error is shown
        self.awake = True
        self.symbols = False
        self.shifted = False
        self._last_task = 0
        self._deaths = 0
        self._still_s = 0.0  # uptime from which on nothing moves

    # What is in front

    def front(self) -> tuple[str, Screen] | None:
        """The package and the screen that the user is in, without what lies over it."""
        if not self.tasks:
            return None
        task = self.tasks[-1]
        return task.package, task.screens[-1]

    def typing(self) -> Screen | None:
        """The screen whose text field has the keyboard."""
        owner = self.prompt or self.front()
        return owner[1] if owner and owner[1].focus and not self.shade else None

    def component(self, package: str, activity: str) -> str:
        """package/full.class.Name"""
        return (
            f"{package}/{package}{activity}"
            if activity.startswith(".")
            else f"{package}/{activity}"
        )

    def layers(self) -> list[Window]:
        """Every window, lowest first. Empty until the framework has shown its first one."""
        # An app that cannot draw itself dies of it, and what was below it is drawn.
        for _ in range(len(self.tasks) + 3):
            deaths, windows = self._deaths, composed(self._world)
            if deaths == self._deaths:
                return windows
        return []  # not even the home screen is left

    # What an app does may end the app, never the phone

    def alive(self, package: str) -> AbstractContextManager[None]:
        """Around every call of an app's code."""
        return crash.contained(self._world, package, lambda: self._died(package))

    def _died(self, package: str) -> None:
        self._deaths += 1
        self.stop_package(package)
        if self.prompt is not None and self.prompt[0] == package:
            self.prompt = None
        self.shade = self.shade and package != SYSTEM_UI
        self.stopped = package

    def focused(self) -> Window | None:
        """The window that a dump shows and keys go to."""
        return next((w for w in reversed(self.layers()) if w.takes_focus), None)

    def focus_name(self) -> str:
        """What mCurrentFocus says; empty for null."""
        window = self.focused()
        return window.name if window else ""

    def roots(self) -> list[Node]:
        """What is drawn, lowest first; a dark frame while the screen is off."""
        return [w.root for w in self.layers()] or [Node(SCREEN, paint=(Fill("#000000"),))]

    # Movement

    def moved(self) -> None:
        """Something changed on the screen: on a restless phone it animates for a while."""
        pause = self._world.noise.animation_s()
        self._still_s = max(self._still_s, self._world.clock.uptime() + pause)

    def idle_in_s(self) -> float:
        """How long until nothing moves; an animating page never comes to rest."""
        front = self.front()
        if front and front[1].args.get("animating"):
            return float("inf")
        return max(0.0, self._still_s - self._world.clock.uptime())

    # Going places

    def launch(self, intent: Intent) -> str | None:
        """Brings up what the intent asks for; its component, or None where nothing answers."""
        found = self.answering(intent)
        if found is None:
            return None
        resumes = intent.action in ("", MAIN) and not intent.activity
        return self.show(*found, resumes=resumes)

    def answering(self, intent: Intent) -> tuple[str, Screen] | None:
        """The package that answers to an intent, and the screen it would show. Only asked."""
        world = self._world
        for package in (intent.package,) if intent.package else tuple(world.apps):
            app, installed = world.apps.get(package), world.packages.get(package)
            disabled = installed is not None and not installed.enabled and package != HOME
            screen = None
            if app is not None and not disabled:
                with self.alive(package):
                    screen = app.open(world, intent)
            if screen is not None:
                return package, screen
        return None

    def show(self, package: str, screen: Screen, *, resumes: bool = False) -> str:
        """Puts a screen that an app opened in front; `resumes` leaves an open app where it was."""
        self.shade = False
        self._started(package)
        with self._turning():
            task = next((task for task in self.tasks if task.package == package), None)
            arrived = task is None or not (resumes or task.screens[-1] == screen)
            if task is None:
                self._last_task += 1
                task = Task(self._last_task, package, [screen])
            else:
                self.tasks.remove(task)
                if arrived:
                    task.screens[-1].focus = ""
                    task.screens.append(screen)
            self.tasks.append(task)
            if arrived:
                with self.alive(package):
                    self._world.apps[package].arrived(self._world, screen)
        return self.component(package, task.screens[-1].activity)

    @contextmanager
    def _turning(self) -> Iterator[None]:
        """Tells the app whose screen goes, and the one whose screen comes."""
        before = self.front()
        yield
        after = self.front()
        if before and not (after and after[1] is before[1]):
            with self.alive(before[0]):
                self._world.apps[before[0]].paused(self._world, before[1])
        if after:
            with self.alive(after[0]):
                self._world.apps[after[0]].resumed(self._world, after[1])

    def _started(self, package: str) -> None:
        world = self._world
        installed = world.packages.get(package)
        zygote = world.processes.find("zygote64")
        uid = installed.uid if installed else SYSTEM
        world.processes.ensure(package, uid, zygote.pid if zygote else 1)
        world.logcat.write("ActivityTaskManager", f"START u0 {{cmp={package}}} from uid {uid}")
        self.moved()

    def push(self, screen: Screen) -> None:
        """The front app opens another of its screens."""
        with self._turning():
            task = self.tasks[-1]
            task.screens[-1].focus = ""
            task.screens.append(screen)
        self.moved()

    def replace(self, screen: Screen) -> None:
        """The front app swaps its screen, as after saving a new entry."""
        with self._turning():
            self.tasks[-1].screens[-1] = screen
        self.moved()

    def back(self) -> None:
        self.moved()
        owner = self.prompt or self.front()
        if self.shade:
            self.shade = False
        elif self.not_responding:
            pass  # only its buttons answer
        elif self.stopped:
            self.stopped = ""
        elif owner and owner[1].focus:
            owner[1].focus = ""
        elif self.prompt is not None:
            self.prompt = None
        elif owner and owner[1].dialog is not None:
            owner[1].dialog = None
        else:
            self.finish()

    def finish(self) -> None:
        """The front screen closes; the home screen's never does."""
        with self._turning():
            task = self.tasks[-1]
            if len(task.screens) > 1:
                task.screens.pop()
            elif task.package != HOME:
                self.tasks.remove(task)
        self.moved()

    def close(self, package: str, activity: str) -> None:
        """This activity goes away wherever it stands; what it was laid over comes back."""
        task = next((task for task in self.tasks if task.package == package), None)
        gone = [s for s in task.screens if s.activity == activity] if task else []
        if task is None or not gone:
            return
        was_front = self.front() == (package, gone[-1])
        with self._turning():
            task.screens = [screen for screen in task.screens if screen.activity != activity]
            if not task.screens:
                self.tasks.remove(task)
            below = next((t for t in self.tasks if t.package == gone[-1].args.get("over")), None)
            if was_front and below is not None:
                self.tasks.remove(below)
                self.tasks.append(below)
        self.moved()

    def home(self) -> None:
        self.prompt = None
        self.stopped = ""
        self.shade = False
        if front := self.front():
            front[1].focus = ""
        self.launch(Intent(MAIN, package=HOME))
        self.tasks[-1].screens = self.tasks[-1].screens[:1]

    def overview(self) -> None:
        """The list of recent tasks, a screen of the launcher."""
        self.home()
        self.push(Screen(".RecentsActivity"))

    def open_shade(self) -> None:
        self.shade = True
        self.moved()

    def close_shade(self) -> None:
        self.shade = False
        self.moved()

    def stop_package(self, package: str) -> None:
        """What `am force-stop` does: its task, process and prompt are gone."""
        if package != HOME:
            self.tasks = [task for task in self.tasks if task.package != package]
        if self.prompt is not None and self.prompt[1].args.get("package") == package:
            self.prompt = None
        if process := self._world.processes.find(package):
            self._world.processes.end(process.pid)

    def clear(self) -> None:
        """Nothing is shown: the framework is down."""
        self.load({"tasks": [], "last_task": 0})

    def save(self) -> Json:
        return {
            "tasks": [asdict(task) for task in self.tasks],
            "last_task": self._last_task,
            "shade": self.shade,
            "prompt": [self.prompt[0], asdict(self.prompt[1])] if self.prompt else None,
            "not_responding": self.not_responding,
            "stopped": self.stopped,
            "awake": self.awake,
            "symbols": self.symbols,
            "shifted": self.shifted,
            "still_s": self._still_s,
        }

    def load(self, state: Json) -> None:
        self.tasks = [
            Task(t["id"], t["package"], [Screen(**s) for s in t["screens"]]) for t in state["tasks"]
        ]
        self._last_task = int(state["last_task"])
        self.shade = bool(state.get("shade"))
        prompt = state.get("prompt")
        self.prompt = (prompt[0], Screen(**prompt[1])) if prompt else None
        self.not_responding = str(state.get("not_responding", ""))
        self.stopped = str(state.get("stopped", ""))
        self.awake = bool(state.get("awake", True))
        self.symbols = bool(state.get("symbols"))
        self.shifted = bool(state.get("shifted"))
        self._still_s = float(state.get("still_s", 0.0))
