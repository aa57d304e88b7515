"""An agent in an image on a cluster: it plays, is shut in, and learns nothing of its run."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from orchestrator.fleet.kubernetes import names
from orchestrator.fleet.kubernetes.api import Json
from tests.e2e.clustered import NAMESPACE, Clustered
from tests.e2e.engine import Engine
from tests.fleet import agent_farm
from tests.fleet.pods_trial import push
from tests.run.conftest import ended

pytestmark = pytest.mark.kubernetes
SMOKE = "cases/smoke"
API_SERVER = "10.96.0.1:443"
# At its first sight of a screen it waits until somebody makes a file.
THINKS = """
import json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        until = time.monotonic() + (0 if said['type'] == 'hello' else 45)
        while time.monotonic() < until and not os.path.exists('/tmp/go'):
            time.sleep(0.05)
        reply = {'type': 'ready'} if said['type'] == 'hello' else {'action': 'done'}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())
HTTPServer(('', 8080), Agent).serve_forever()
"""
# All that a program finds of itself without a network.
LOOK = """
import json, os, pathlib, socket
files = ('/etc/hosts', '/etc/resolv.conf', '/etc/hostname', '/proc/self/cgroup', '/proc/mounts')
print(json.dumps([dict(os.environ), socket.gethostname(), os.listdir('/'), os.listdir('/run'),
    [pathlib.Path(file).read_text() for file in files]]))
"""
ASK = """
import sys, urllib.error, urllib.request
url, token = sys.argv[1:]
asked = urllib.request.Request(url, headers={'X-Emufarm-Token': open(token).read().strip()})
try:
    print(urllib.request.urlopen(asked, timeout=10).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


@pytest.fixture
def built(
    image_engine: Engine, clustered: Clustered, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Clustered]:
    for name, value in image_engine.env.items():
        monkeypatch.setenv(name, value)
    yield clustered
    agent_farm.sweep()


def test_the_example_image_plays_the_smoke_case(built: Clustered) -> None:
    image = push(built.cluster, agent_farm.build_example(), "example")
    words = ("--devices", "1", "--repeats", "2", "--agent", f"image:{image}")
    code, output = built.run(SMOKE, *words, name="image")
    assert code == 0, output
    assert list(built.farm.outcomes("image").values()) == ["success", "success"]
    built.proves_itself("image")
    built.delete("image")


def test_an_agent_reaches_nothing_and_learns_nothing_and_its_worker_has_no_rights(
    built: Clustered,
) -> None:
    image = push(built.cluster, agent_farm.build("emufarm-test-agent:thinks", THINKS), "thinks")
    process = built.start(SMOKE, "--devices", "1", "--agent", f"image:{image}", name="blind")
    try:
        agent = is_shut_in(built)
        built.in_pod(agent, "agent", "open('/tmp/go', 'w')")
        code, output = ended(process)
    finally:
        process.kill()
        process.communicate()
    assert code == 0, output
    assert list(built.farm.outcomes("blind").values()) == ["task_failed"]
    built.delete("blind")


def is_shut_in(built: Clustered) -> Json:
    """The agent's Pod, which was looked at from inside, as was its worker's."""
    cluster = built.cluster
    cluster.wait("the agent's Pod", lambda: any(map(is_ready, pods(built, "agent"))))
    (agent,), (device,) = pods(built, "agent"), pods(built, "device")
    service = cluster.get("service", "emufarm-blind", "-n", NAMESPACE)["spec"]["clusterIP"]
    coordinator, phone = f"{service}:8080", device["status"]["podIP"]
    # What enforces policies in the test cluster sees a new Pod a moment after it has started.
    cluster.wait("the policies", lambda: built.reached(agent, "agent", API_SERVER) == [])
    inside_device = [f"{phone}:{port}" for port in (5037, 5554, 5555, 5600, 8080)]
    places = [coordinator, API_SERVER, f"{cluster.machine_address}:22", *inside_device]
    assert built.reached(agent, "agent", *places) == []

    # The control groups of the test cluster's nodes are called by its own name.
    seen = built.in_pod(agent, "agent", LOOK).replace(f"emufarm-{cluster.layout.tag}", "")
    for word in ("blind", "emufarm", "smoke", "slot-"):
        assert word not in seen, seen
    assert json.loads(seen)[1] == "agent"

    found = built.reached(device, "worker", coordinator, API_SERVER)
    assert coordinator in found
    assert API_SERVER not in found
    for path in ("state", "journal", "file?name=plan.json"):
        words = (f"http://{coordinator}/v1/{path}", "/run/worker/worker.token")
        assert built.in_pod(device, "worker", ASK, *words).strip() == "401"
    return agent


def pods(clustered: Clustered, component: str) -> list[Json]:
    selector = names.run_selector("blind", component)
    return list(clustered.cluster.get("pods", "-n", NAMESPACE, "-l", selector)["items"])


def is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
