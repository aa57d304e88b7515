"""Ends a run in order after Ctrl-C or SIGTERM, in a script, in a notebook and in a thread."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from .run_events import Notice, OnEvent

STOPPING = "stopping: giving leases back; what is decided stays decided (again: end at once)"

T = TypeVar("T")
Ask = Callable[[], object]
Work = Callable[[asyncio.Event], Coroutine[Any, Any, T]]


def blocking(work: Work[T], on_event: OnEvent, stopping: str = STOPPING) -> T:
    """Runs a coroutine to its end. It is given an event that is set by Ctrl-C or SIGTERM, and
    `stopping` is said then.

    If the caller's thread runs an event loop, as a notebook's does, the coroutine gets a thread of
    its own, and the caller waits for it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_interruptible(work, on_event, Future(), stopping))
    return _in_thread(work, on_event, stopping)


def _in_thread(work: Work[T], on_event: OnEvent, stopping: str) -> T:
    asked: Future[Ask] = Future()
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(asyncio.run(_interruptible(work, on_event, asked, stopping)))
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            result.set_exception(error)

    thread = threading.Thread(target=run, name="run")
    thread.start()
    while True:
        try:
            return result.result()
        except KeyboardInterrupt:
            if result.done():
                raise
            asked.result()()


async def _interruptible(work: Work[T], on_event: OnEvent, asked: Future[Ask], stopping: str) -> T:
    loop, interrupted = asyncio.get_running_loop(), asyncio.Event()

    def ask() -> None:
        if not interrupted.is_set():
            on_event(Notice(stopping))
            interrupted.set()

    asked.set_result(lambda: loop.call_soon_threadsafe(ask))
    with _signals(loop, interrupted, ask):
        return await work(interrupted)


@contextmanager
def _signals(
    loop: asyncio.AbstractEventLoop, interrupted: asyncio.Event, ask: Callable[[], None]
) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM asks the run to end. A second has its default effect: it ends
    the process at once, and its children with it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may have signal handlers
        return

    def heard(number: int) -> None:
        if interrupted.is_set():
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        ask()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, heard, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
