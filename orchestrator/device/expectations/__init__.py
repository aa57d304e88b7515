"""The expectations that the device room has of every phone, real or simulated, by name.

An expectation must hold on a real Android 14 emulator; behaviour of the simulated phone alone is
none. Expectations that change the phone lastingly are marked destructive; the others may run
anywhere.
"""

from .apps import APPS
from .changes import CHANGES
from .console import CONSOLE
from .expectation import Expectation
from .framework import FRAMEWORK
from .transport import TRANSPORT

EXPECTATIONS = (*TRANSPORT, *FRAMEWORK, *APPS, *CONSOLE, *CHANGES)

__all__ = ["EXPECTATIONS", "Expectation"]
