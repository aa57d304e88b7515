"""Measures the farm on a cluster: the delays of a run, and a fleet of thousands of Pods.

    .venv/bin/python bench/cluster.py run [--devices 2] [--repeats 8]
    .venv/bin/python bench/cluster.py pods [1000 2000 5000]

KUBECONFIG names a cluster with the farm applied (docs/kubernetes.md); `make cluster` makes one.

`run` starts a real run of the smoke case and reads its journal: how long until the first lease,
from the last commit until the whole folder is on this machine, and from the deletion of a Pod until
the device in its place has started. The profile's image must be pushed.

`pods` makes fleets of so many devices with the farm's own code, on nodes that only exist in the API
(kwok, built here from its Go module; needs Go 1.26): how long until all are seen running, the CPU
time that takes, the CPU while nothing happens, and how long the replacement of one in a hundred
takes. No phone runs. Everything is removed at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from orchestrator.coordinator import chain
from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.coordinator.messages import slot_of
from orchestrator.coordinator.transitions import AttemptCommitted, DeviceStarted, LeaseGranted
from orchestrator.errors import EmufarmError
from orchestrator.farm.cluster.reach import FarmNamespace, farm_namespace
from orchestrator.farm.cluster.start import pushed_images
from orchestrator.fleet.kubernetes import names
from orchestrator.fleet.kubernetes.api import PODS, Json
from orchestrator.fleet.kubernetes.backend import KubernetesBackend
from orchestrator.fleet.kubernetes.farm_run import FARM_RUNS, FarmRunSpec, owner_reference
from orchestrator.fleet.kubernetes.run_objects import TEMPLATES
from orchestrator.fleet.port import Fleet, FleetOrder
from orchestrator.pins.profile import FILE, images_folder, load_profile

ROOT = Path(__file__).resolve().parents[1]
PROFILE, SMOKE = "sim-api34", "cases/smoke"
PATIENCE_S, LOOK_S, IDLE_S = 900.0, 0.05, 20.0
KWOK = Path(__file__).with_name("kwok")
FAKE = {"kwok.x-k8s.io/node": "fake"}
FAKE_NODES, PODS_EACH = 6, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="part", required=True)
    run = parts.add_parser("run")
    run.add_argument("--devices", type=int, default=2)
    run.add_argument("--repeats", type=int, default=8)
    pods = parts.add_parser("pods")
    pods.add_argument("counts", type=int, nargs="*", default=[1000, 2000, 5000])
    words = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    if words.part == "run":
        asyncio.run(measure_run(words.devices, words.repeats))
    else:
        asyncio.run(measure_pods(words.counts))


async def measure_run(devices: int, repeats: int) -> None:
    name = f"bench-{uuid.uuid4().hex[:6]}"
    with tempfile.TemporaryDirectory() as place:
        words = [
            "--devices",
            str(devices),
            "--repeats",
            str(repeats),
            "--run",
            name,
            "--runs",
            place,
        ]
        begun = time.time()
        process = await asyncio.to_thread(start_run, words)
        folder = Path(place, name, chain.FOLDER)
        async with farm_namespace("", "") as farm:
            try:
                await until(lambda: bool(found(folder, LeaseGranted)) or ended(process))
                first = found(folder, LeaseGranted)[0]
                device = lease_device(folder)
                deleted = time.time()
                await farm.api.delete(PODS, names.device_object(name, device), 0)
                await asyncio.to_thread(process.wait, PATIENCE_S)
                done = time.time()
            finally:
                process.kill()
                process.wait(PATIENCE_S)
                await farm.api.delete(FARM_RUNS, name)
        if process.returncode != 0:
            raise EmufarmError(f"the run ended with exit code {process.returncode}")
        last = max(found(folder, AttemptCommitted))
        starts = (
            line.ts_ms / 1000
            for line in chain.read(folder).lines
            if isinstance(line.event, DeviceStarted)
            and slot_of(line.event.device) == slot_of(device)
            and line.event.device != device
        )
        anew = next(starts, None)
        if anew is None:
            raise EmufarmError("the run was over before the new device began: more --repeats")
        print(f"run to first lease             {first - begun:6.1f} s")
        print(f"last commit to whole folder    {done - last:6.1f} s")
        print(f"Pod deleted to its device anew {anew - deleted:6.1f} s")


def start_run(words: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "orchestrator.cli", "run", SMOKE, "--backend", "kubernetes"]
    return subprocess.Popen([*command, *words], cwd=ROOT, stdout=subprocess.DEVNULL)


def found(folder: Path, kind: type) -> list[float]:
    """When such events were journaled, in seconds."""
    if not folder.is_dir():
        return []
    return [one.ts_ms / 1000 for one in chain.read(folder).lines if isinstance(one.event, kind)]


def lease_device(folder: Path) -> str:
    events = (line.event for line in chain.read(folder).lines)
    return next(event.device for event in events if isinstance(event, LeaseGranted))


def ended(process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise EmufarmError(f"the run ended with exit code {process.returncode} before it began")
    return False


async def measure_pods(counts: list[int]) -> None:
    async with farm_namespace("", "") as farm:
        with kwok(), fake_nodes(farm):
            print("devices  running s  CPU s  idle CPU %  1 % replaced s  removed s")
            for count in counts:
                await measure_fleet(farm, count)


async def measure_fleet(farm: FarmNamespace, count: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        run = Path(place, f"bench-{uuid.uuid4().hex[:6]}")
        begun, cpu = time.monotonic(), cpu_s()
        async with fleet_of(farm, run, count) as fleet:
            await until(lambda: all(slot.state == "running" for slot in fleet.slots))
            running, used = time.monotonic() - begun, cpu_s() - cpu
            cpu = cpu_s()
            await asyncio.sleep(IDLE_S)  # what is measured is that nothing happens
            idle = (cpu_s() - cpu) / IDLE_S
            lost = [slot.device for slot in fleet.slots[::100]]
            begun = time.monotonic()
            for device in lost:
                await farm.api.delete(PODS, names.device_object(run.name, device), 0)
            await until(lambda: all(
                slot.state == "running" and slot.device not in lost for slot in fleet.slots
            ))  # fmt: skip
            replaced, begun = time.monotonic() - begun, time.monotonic()
            await fleet.end()
        removed = time.monotonic() - begun
    figures = (running, 9), (used, 5), (100 * idle, 10), (replaced, 14), (removed, 9)
    print(f"{count:7}", *(f"{value:{width}.1f}" for value, width in figures), sep="  ")


@asynccontextmanager
async def fleet_of(farm: FarmNamespace, run: Path, count: int) -> AsyncIterator[Fleet]:
    profile, images = load_profile(PROFILE), pushed_images(load_profile(PROFILE))
    spec = FarmRunSpec("0" * 64, PROFILE, images.device, images.worker, "reference", count, "bench",
                       count)  # fmt: skip
    farm_run = await farm.api.create(FARM_RUNS, spec.body(run.name))
    try:
        backend = KubernetesBackend(
            farm.access, farm.name, owner_reference(farm_run), await fake_template(farm),
            images.device, images.worker, images.lock, profile,
            (images_folder() / PROFILE / FILE).read_text(), seal_s=1.0,
        )  # fmt: skip
        order = FleetOrder(
            devices=count, coordinator="http://127.0.0.1:9", key=WorkerKey("bench"),
            work=run.parent, starts=5, boot_s=600.0, linger_s=1.0,
        )  # fmt: skip
        async with (
            backend.resources(run, lambda line: print(line, file=sys.stderr)) as resources,
            resources.fleet(order, lambda fact: None) as fleet,
        ):
            yield fleet
    finally:
        await farm.api.delete(FARM_RUNS, run.name)


async def fake_template(farm: FarmNamespace) -> Json:
    found = await farm.api.get(TEMPLATES, "emufarm-device")
    if found is None:
        raise EmufarmError("apply k8s/overlays/sim first")
    template: Json = found["template"]
    template["spec"] |= {
        "nodeSelector": {"type": "kwok"},
        "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
    }
    return template


@contextmanager
def kwok() -> Iterator[None]:
    """Built once; ended with this program."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "emufarm", "kwok")
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    subprocess.run(["go", "build", "-trimpath", "-o", cache, "sigs.k8s.io/kwok/cmd/kwok"],
                   cwd=KWOK, env=env, check=True, timeout=PATIENCE_S)  # fmt: skip
    words = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
    found = subprocess.run(words, cwd=KWOK, env=env, check=True, text=True, capture_output=True,
                           timeout=PATIENCE_S)  # fmt: skip
    stages = Path(found.stdout.strip(), "kustomize", "stage")
    files = [*stages.glob("node/fast/node-*.yaml"), *stages.glob("node/heartbeat/node-*.yaml"),
             *stages.glob("pod/fast/pod-*.yaml")]  # fmt: skip
    ((key, value),) = FAKE.items()
    command = [str(cache), "--kubeconfig", os.environ["KUBECONFIG"], "--manage-all-nodes=false",
               f"--manage-nodes-with-annotation-selector={key}={value}", "--cidr", "10.99.0.0/16",
               *(f"--config={file}" for file in files)]  # fmt: skip
    with tempfile.NamedTemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield
            if process.poll() is not None:
                log.seek(0)
                raise EmufarmError(f"kwok ended: {log.read()[-500:]}")
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def fake_nodes(farm: FarmNamespace) -> Iterator[None]:
    """Nodes are no objects of a namespace: whoever measures needs rights over the cluster."""
    room = {"cpu": "10000", "memory": "10Ti", "ephemeral-storage": "100Ti", "pods": str(PODS_EACH)}
    with farm.access.client("/api/v1") as http:
        try:
            for number in range(FAKE_NODES):
                about = {
                    "name": node_name(number), "annotations": FAKE,
                    "labels": {"type": "kwok", "kubernetes.io/hostname": node_name(number)},
                }  # fmt: skip
                taint = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
                body = {
                    "apiVersion": "v1", "kind": "Node", "metadata": about,
                    "spec": {"taints": [taint]},
                    "status": {"allocatable": room, "capacity": room},
                }  # fmt: skip
                http.post("/nodes", json=body).raise_for_status()
            yield
        finally:
            for number in range(FAKE_NODES):
                http.delete(f"/nodes/{node_name(number)}")


def node_name(number: int) -> str:
    return f"bench-kwok-{number}"


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - a journal and a slot tell no event
            await asyncio.sleep(LOOK_S)


if __name__ == "__main__":
    main()
