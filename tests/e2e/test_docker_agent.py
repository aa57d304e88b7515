"""An agent in an image plays through the whole farm; what it does to itself is its own fault."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.docked import Docked
from tests.fleet import agent_farm

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("baked")]

SMOKE = "cases/smoke"
# Ready, and then out of memory at its first sight of a screen.
HUNGRY = """
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        held = []
        while said['type'] != 'hello':
            held.append(b'x' * (64 << 20))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"type": "ready"}')
HTTPServer(('', 8080), Agent).serve_forever()
"""


@pytest.fixture(autouse=True)
def _nothing_is_left(docked: Docked) -> Iterator[None]:
    before = docked.left()
    yield
    agent_farm.sweep()
    assert docked.left() == before


def test_the_example_image_plays_the_smoke_case_and_the_run_proves_itself(docked: Docked) -> None:
    image = agent_farm.build_example()
    words = ("--devices", "1", "--repeats", "2", "--agent", f"image:{image}")
    code, output = docked.run(SMOKE, *words, name="image")
    assert code == 0, output
    assert list(docked.farm.outcomes("image").values()) == ["success", "success"]
    told = json.loads((docked.farm.runs / "image" / "run_manifest.json").read_text())["agent"]
    assert (told["image"], told["trusted_with_host"]) == (image, False)
    assert told["image_id"].startswith("sha256:")
    docked.proves_itself("image")


def test_an_agent_out_of_memory_has_failed_and_costs_no_device(docked: Docked) -> None:
    image = agent_farm.build("emufarm-test-agent:hungry", HUNGRY)
    code, output = docked.run(SMOKE, "--devices", "1", "--agent", f"image:{image}", name="hungry")
    assert code == 0, output
    (attempt,) = (docked.farm.runs / "hungry" / "episodes").glob("*/attempt-*/attempt.json")
    told = json.loads(attempt.read_text())
    judged = told["judgement"]
    assert (judged["outcome"], judged["reason"]) == ("agent_failed", "agent_crashed")
    assert "container OOM-killed: the agent needed more than its 1024 MB" in judged["text"]


def test_an_image_that_is_not_there_is_a_usage_error(docked: Docked) -> None:
    words = ("--devices", "1", "--agent", "image:no-such-agent:1")
    code, output = docked.run(SMOKE, *words, name="none")
    assert code == 2
    assert "has no image 'no-such-agent:1': build or pull it first" in output
