"""The window manager: tasks and their back stacks, what lies over them, and what is in front."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from ..processes import SYSTEM
from ..state import Json
from . import theme
from .decor import navigation_bar, status_bar
from .keyboard import keyboard
from .node import SCREEN, Fill, Node
from .screen import Intent, Screen, Task

if TYPE_CHECKING:
    from ..world import World

HOME = "com.android.launcher3"
SYSTEM_UI = "com.android.systemui"
MAIN = "android.intent.action.MAIN"


class Window(NamedTuple):
    """One layer of the frame."""

    name: str  # as dumpsys spells it
    package: str
    root: Node
    takes_focus: bool = True
    modal: bool = False  # nothing below can be tapped


class Windows:
    def __init__(self, world: World) -> None:
        self._world = world
        self.tasks: list[Task] = []  # the last one is in front
        self.shade = False
        self.prompt: tuple[str, Screen] | None = None  # a system dialog: whose, and its state
        self.not_responding = ""  # the package in an ANR window
        self.awake = True
        self.symbols = False
        self.shifted = False
        self._last_task = 0
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
        front = self.front()
        if front is None or not self.awake:
            return []
        world, (package, screen) = self._world, front
        app = world.apps[package]
        name = self.component(package, screen.activity)
        windows = [Window(name, package, app.view(world, screen))]
        if screen.dialog is not None and (root := app.dialog(world, screen)) is not None:
            windows.append(Window(name, package, root, modal=True))
        if self.prompt is not None:
            owner, state = self.prompt
            root = world.apps[owner].dialog(world, state)
            if root is not None:
                title = self.component(owner, state.activity)
                windows.append(Window(title, owner, root, modal=True))
        if self.typing() is not None:
            board = keyboard(self._press_key, symbols=self.symbols, shifted=self.shifted)
            windows.append(Window("InputMethod", "", board, takes_focus=False))
        light = self.shade or (package == HOME and screen.activity == ".Launcher")
        if self.shade:
            root = world.apps[SYSTEM_UI].view(world, Screen("NotificationShade"))
            windows.append(Window("NotificationShade", SYSTEM_UI, root, modal=True))
        ink = "#FFFFFF" if light else theme.TEXT
        ground = "" if light else theme.BACKGROUND
        bars = (status_bar(world, ink), navigation_bar(self._press_button, ink, ground))
        windows += [Window("StatusBar", SYSTEM_UI, bar, takes_focus=False) for bar in bars]
        return windows

    def focused(self) -> Window | None:
        """The window that a dump shows and keys go to."""
        return next((w for w in reversed(self.layers()) if w.takes_focus), None)

    def focus_name(self) -> str:
        """What mCurrentFocus says; empty for null."""
        if self.not_responding:
            return f"Application Not Responding: {self.not_responding}"
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
        package, screen = self._resolve(intent)
        if screen is None:
            return None
        self.shade = False
        self._started(package)
        task = next((task for task in self.tasks if task.package == package), None)
        if task is None:
            self._last_task += 1
            task = Task(self._last_task, package, [screen])
            self.tasks.append(task)
            self._world.apps[package].arrived(self._world, screen)
        else:
            self.tasks.remove(task)
            self.tasks.append(task)
            resumes = intent.action in ("", MAIN) and not intent.activity
            if not resumes and task.screens[-1] != screen:
                task.screens[-1].focus = ""
                task.screens.append(screen)
                self._world.apps[package].arrived(self._world, screen)
        return self.component(package, task.screens[-1].activity)

    def _resolve(self, intent: Intent) -> tuple[str, Screen | None]:
        apps = self._world.apps
        if intent.package:
            app = apps.get(intent.package)
            return intent.package, app.open(self._world, intent) if app else None
        for package, app in apps.items():
            if (screen := app.open(self._world, intent)) is not None:
                return package, screen
        return "", None

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
        task = self.tasks[-1]
        task.screens[-1].focus = ""
        task.screens.append(screen)
        self.moved()

    def replace(self, screen: Screen) -> None:
        """The front app swaps its screen, as after saving a new entry."""
        self.tasks[-1].screens[-1] = screen
        self.moved()

    def back(self) -> None:
        self.moved()
        owner = self.prompt or self.front()
        if self.shade:
            self.shade = False
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

    def _press_key(self, face: str) -> None:
        from . import touch  # the keyboard is drawn here and obeyed there

        touch.press_key(self._world, face)

    def _press_button(self, name: str) -> None:
        {"Back": self.back, "Home": self.home, "Overview": self.overview}[name]()

    def save(self) -> Json:
        return {
            "tasks": [asdict(task) for task in self.tasks],
            "last_task": self._last_task,
            "shade": self.shade,
            "prompt": [self.prompt[0], asdict(self.prompt[1])] if self.prompt else None,
            "not_responding": self.not_responding,
            "awake": self.awake,
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
        self.awake = bool(state.get("awake", True))
        self.symbols = self.shifted = False
        self._still_s = 0.0
