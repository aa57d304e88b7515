"""An agent in an image on a cluster: it plays, is shut in, and learns nothing of its run."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.fleet.kubernetes import names
from orchestrator.fleet.kubernetes.api import Json
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.clustered import NAMESPACE, Clustered
from tests.e2e.engine import Engine
from tests.fleet import agent_farm
from tests.fleet.pods_trial import push
from tests.run.conftest import ended

pytestmark = pytest.mark.kubernetes
SMOKE = "cases/smoke"
API_SERVER = "10.96.0.1:443"
PHONE_PORTS = (5037, 5554, 5555, 5600)  # adb's server, the console, the phone, the supervisor
# At its first sight of a screen it waits until somebody makes a file. All that it is sent it keeps,
# but for the pictures.
THINKS = """
import json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        said.pop('screenshot', None)
        with open('/tmp/said', 'a') as file:
            file.write(json.dumps([self.path, str(self.headers), said]))
        until = time.monotonic() + (0 if said['type'] == 'hello' else 240)
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
SAID = "print(open('/tmp/said').read())"
ASK = """
import sys, urllib.error, urllib.request
url, token, body = sys.argv[1:]
header = {'X-Emufarm-Token': open(token).read().strip()}
asked = urllib.request.Request(url, body.encode() or None, header)
try:
    print(urllib.request.urlopen(asked, timeout=10).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""

TOKENS = "import os; print(os.path.exists('/var/run/secrets/kubernetes.io'))"


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
    built: Clustered, patient_cases: Path
) -> None:
    image = push(built.cluster, agent_farm.build("emufarm-test-agent:thinks", THINKS), "thinks")
    process = built.start(
        str(patient_cases), "--devices", "1", "--agent", f"image:{image}", name="blind"
    )
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
    with listening_at(cluster.machine_address) as machine, free_pod(built) as free:
        kubelets = {node: f"{address}:10250" for node, address in node_addresses(cluster).items()}
        places = [
            coordinator, f"{built.coordinator('blind')['status']['podIP']}:8080", API_SERVER,
            f"{free['status']['podIP']}:8080", machine, *kubelets.values(),
        ]  # fmt: skip
        # A Pod that no policy selects reaches them all.
        assert set(places) <= set(built.reached(free, "free", *places))
        # What enforces policies in the test cluster sees a new Pod a moment after it has started.
        cluster.wait("the policies", lambda: built.reached(agent, "agent", API_SERVER) == [])
        # No policy keeps a Pod from its own node, whose kubelet asks for a certificate.
        far = [place for place in places if place != kubelets[agent["spec"]["nodeName"]]]
        assert built.reached(agent, "agent", *far) == []
        far = [place for place in places if place != kubelets[device["spec"]["nodeName"]]]
        found = set(built.reached(device, "worker", *far))
        assert coordinator in found
        assert found <= set(places[:2])

        # The farm's own policies let nobody in, wherever it comes from.
        entrances = [f"{agent['status']['podIP']}:8080", *(f"{phone}:{n}" for n in PHONE_PORTS)]
        assert built.reached(free, "free", *entrances) == []

    for pod, name in ((agent, "agent"), (device, "worker"), (device, "device")):
        assert built.in_pod(pod, name, TOKENS).strip() == "False"
    inside = [f"127.0.0.1:{port}" for port in PHONE_PORTS]
    assert set(inside) <= set(built.reached(device, "worker", *inside))
    assert built.reached(agent, "agent", *(f"{phone}:{port}" for port in PHONE_PORTS)) == []

    # The control groups of the test cluster's nodes are called by its own name.
    seen = built.in_pod(agent, "agent", LOOK).replace(f"emufarm-{cluster.layout.tag}", "")
    said = built.in_pod(agent, "agent", SAID)
    assert "Turn off Wi-Fi" in said
    for word in ("blind", "smoke", "wifi_off", "benign", "slot-"):
        assert word not in seen, seen
        assert word not in said, said
    assert "emufarm" not in seen, seen
    assert json.loads(seen)[1] == "agent"

    for path in ("state", "journal", "file?name=plan.json"):
        assert asked(built, device, f"http://{coordinator}/v1/{path}") == "401"
    loss = json.dumps({"device": device["metadata"]["labels"][names.DEVICE]})
    for path in ("device_lost", "pulled"):
        assert asked(built, device, f"http://{coordinator}/v1/{path}", loss) == "401"
    return agent


def node_addresses(cluster: Cluster) -> dict[str, str]:
    return {
        node["metadata"]["name"]: one["address"]
        for node in cluster.get("nodes")["items"]
        for one in node["status"]["addresses"]
        if one["type"] == "InternalIP"
    }


def asked(built: Clustered, device: Json, url: str, body: str = "") -> str:
    """The status that a worker gets with its own secret."""
    words = (url, "/run/worker/worker.token", body)
    return built.in_pod(device, "worker", ASK, *words).strip()


@contextmanager
def listening_at(address: str) -> Iterator[str]:
    """A place on this machine."""
    with socket.create_server((address, 0)) as server:
        yield f"{address}:{server.getsockname()[1]}"


@contextmanager
def free_pod(built: Clustered) -> Iterator[Json]:
    """A Pod in a namespace without policies, which listens at 8080."""
    container = {
        "name": "free", "image": built.images[1],
        "command": ["python3", "-m", "http.server", "8080"],
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
    }  # fmt: skip
    pod: Json = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "free", "namespace": "default"},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }  # fmt: skip
    built.cluster.apply(pod)
    try:
        built.cluster.kubectl("wait", "pod/free", "--for=condition=Ready", "--timeout=90s")
        yield built.cluster.get("pod", "free")
    finally:
        built.cluster.kubectl("delete", "pod", "free")


def pods(clustered: Clustered, component: str) -> list[Json]:
    selector = names.run_selector("blind", component)
    return list(clustered.cluster.get("pods", "-n", NAMESPACE, "-l", selector)["items"])


def is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
