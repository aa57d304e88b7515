"""What the device room expects of any phone, real or simulated, by name.

An expectation must hold on a real Android 14 emulator: what only the simulated phone does is no
expectation. One that changes nothing lasting may run anywhere; the others are marked.
"""

from .apps import APPS
from .changes import CHANGES
from .console import CONSOLE
from .expectation import Expectation
from .framework import FRAMEWORK
from .screens import SCREENS
from .transport import TRANSPORT

EXPECTATIONS: tuple[Expectation, ...] = (
    *TRANSPORT,
    *FRAMEWORK,
    *APPS,
    *SCREENS,
    *CONSOLE,
    *CHANGES,
)

__all__ = ["EXPECTATIONS", "Expectation"]
