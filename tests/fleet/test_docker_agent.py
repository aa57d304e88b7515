"""An agent in an image on a real engine: what it can reach, what it knows, how it ends."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.coordinator.messages import AgentContainers, AgentStatus
from orchestrator.errors import UsageError
from orchestrator.fleet.docker.agents import agent_image
from orchestrator.fleet.docker.containers import ContainerLimits
from orchestrator.fleet.docker.engine import Engine
from orchestrator.fleet.port import Fleet
from tests.fleet import agent_farm as farm
from tests.fleet.docker_trial import DockerTrial, docker, docker_trial

pytestmark = pytest.mark.docker

DEVICE = "slot-00.1"
# adb's server, the console, the device's adb, a real emulator's gRPC; 5600 is the supervisor's.
PORTS = ("5037", "5554", "5555", "8554", "5600")


@pytest.fixture(scope="module")
def example() -> Iterator[str]:
    yield farm.build_example()
    farm.sweep()


@pytest.fixture
def trial(engine: Engine, tmp_path: Path) -> Iterator[DockerTrial]:
    with docker_trial(tmp_path / "secret-run", engine) as trial:
        yield trial


@dataclass(frozen=True)
class Farm:
    trial: DockerTrial
    fleet: Fleet
    gateway: str

    @property
    def agents(self) -> AgentContainers:
        assert self.fleet.agents is not None
        return self.fleet.agents

    async def fresh(self, device: str = DEVICE) -> AgentStatus:
        return await self.agents.agent(device, "start")

    def name(self, part: str, device: str = DEVICE) -> str:
        return f"{self.trial.owner.name}-{device}-{part}"


@asynccontextmanager
async def running(
    trial: DockerTrial, image: str, slots: int = 1, limits: ContainerLimits | None = None
) -> AsyncIterator[Farm]:
    """Every slot's pair is at work; no agent is started yet. Whatever is waited for has its end."""
    agent = agent_image(trial.engine, image)
    trial.agent = replace(agent, limits=limits or agent.limits)
    order = trial.order("wait 0", slots, 3)
    async with (
        asyncio.timeout(5 * farm.PATIENCE_S),
        trial.resources() as resources,
        resources.fleet(order, trial.facts.put_nowait) as fleet,
    ):
        await trial.working(*(f"slot-{slot:02d}.1" for slot in range(slots)))
        yield Farm(trial, fleet, resources.host)


async def test_an_agent_reaches_nothing_of_what_its_worker_reaches(
    trial: DockerTrial, example: str
) -> None:
    """Its device's ports, the coordinator, this machine, the other pairs, the internet; not even
    past the routes it was given."""
    async with running(trial, example, slots=2) as pairs:
        with socket.create_server((pairs.gateway, 0)) as server:
            coordinator = f"{pairs.gateway}:{server.getsockname()[1]}"
            urls = [(await pairs.fresh(f"slot-0{slot}.1")).url for slot in (0, 1)]
            agents = [url.removeprefix("http://").removesuffix("/") for url in urls]
            worker, device, agent = map(pairs.name, ("worker", "device", "agent"))
            listen = ("exec", "-d", device, "python3", "-c", farm.LISTEN, *PORTS[:-1])
            await asyncio.to_thread(docker, *listen)
            own = [f"127.0.0.1:{port}" for port in PORTS]
            near = (*own, coordinator, agents[0])
            while True:  # each comes up by itself
                seen = await asyncio.to_thread(farm.reached, worker, *near)
                if all(seen[place] == "reached" for place in near):
                    break
            others = farm.addresses(pairs.name("worker", "slot-01.1"))
            hosts = [*farm.addresses(worker), *others, agents[0].rpartition(":")[0]]
            machine = f"{agents[0].rpartition('.')[0]}.1:{coordinator.rpartition(':')[2]}"
            far = [
                *own, *(f"{host}:{port}" for host in hosts for port in PORTS),
                coordinator, machine, agents[1], "1.1.1.1:53", "8.8.8.8:443",
            ]  # fmt: skip
            seen = await asyncio.to_thread(farm.reached, agent, *far)
    assert len(seen) == 2 * len(far)
    assert [place for place, how in seen.items() if how == "reached"] == []


async def test_nothing_of_a_pair_listens_but_on_loopback(trial: DockerTrial, example: str) -> None:
    """So that a new port of a device is not an agent's to use."""
    async with running(trial, example) as pairs:
        await pairs.fresh()
        print_it = "print(open('/proc/net/tcp').read(), open('/proc/net/tcp6').read())"
        lines = await asyncio.to_thread(farm.inside, pairs.name("worker"), print_it)
    listening = [line.split()[1] for line in lines.splitlines() if " 0A " in line]
    assert "0100007F:15E0" in listening  # the stand-in's 5600
    beyond = [place for place in listening if not place.startswith(("0100007F", "0B00007F"))]
    assert beyond == []


async def test_the_example_answers_its_worker(trial: DockerTrial, example: str) -> None:
    async with running(trial, example) as pairs:
        url = (await pairs.fresh()).url
        words = [json.dumps({"type": "hello"}), json.dumps({"type": "observation", "step": 0})]
        post = (pairs.name("worker"), farm.POST, url, *words)
        while not (said := await asyncio.to_thread(try_inside, *post)):
            continue
    ready, action = map(json.loads, said.splitlines())
    assert (ready["type"], action) == ("ready", {"action": "open_app", "app": "settings"})
    assert url.endswith(":8080/")


def try_inside(container: str, program: str, *words: str) -> str:
    return docker("exec", container, "python3", "-c", program, *words, check=False)


async def test_every_attempt_gets_a_new_container_with_nothing_of_the_old(
    trial: DockerTrial, example: str
) -> None:
    async with running(trial, example) as pairs:
        ids = []
        for _ in range(2):
            await pairs.fresh()
            found = farm.inspected(pairs.name("agent"))
            ids.append(found["Id"])
            write = "import os; print(os.listdir('/tmp')); open('/tmp/memory', 'w')"
            assert farm.inside(pairs.name("agent"), write).strip() == "[]"
        assert ids[0] != ids[1]
        assert await pairs.agents.agent(DEVICE, "remove") == AgentStatus()
        assert docker("ps", "-aq", "--filter", f"name={pairs.name('agent')}") == ""


async def test_nothing_inside_says_which_run_this_is(trial: DockerTrial, example: str) -> None:
    """Not its environment, its mounts, its names, nor the engine's resolver; which asks nobody."""
    look = """
import os, socket, sys
print(dict(os.environ), open("/proc/self/mountinfo").read(), open("/etc/hosts").read())
print(socket.gethostname())
asked = [(socket.getnameinfo, (host, 0), 0) for host in sys.argv[1:]]
for ask, *words in (*asked, (socket.gethostbyname, "example.com")):
    try:
        print("resolved", *words, ask(*words))
    except OSError as error:
        print(error)
"""
    async with running(trial, example) as pairs:
        await pairs.fresh()
        known = farm.addresses(pairs.name("worker")) + farm.addresses(pairs.name("agent"))
        told = await asyncio.to_thread(farm.inside, pairs.name("agent"), look, *known)
        found = farm.inspected(pairs.name("agent"))
    assert pairs.name("worker") in told  # the resolver does answer, and gives names away
    assert "secret" not in told
    assert "resolved example.com" not in told
    assert "emufarm." not in told.replace(trial.owner.name, "")
    assert (found["Mounts"], found["HostConfig"]["Binds"]) == ([], None)
    assert found["HostConfig"]["Dns"] == ["127.0.0.1"]


async def test_an_agent_is_shut_in_like_all_others(trial: DockerTrial, example: str) -> None:
    look = """
import os
status = open("/proc/self/status").read()
print([line.split()[1] for line in status.splitlines() if line.startswith(("Cap", "NoNewPrivs"))])
try:
    open("/written", "w")
except OSError as error:
    print(error.strerror)
"""
    async with running(
        trial, example, limits=ContainerLimits(cpus=0.5, memory_mb=128, pids=20)
    ) as pairs:
        await pairs.fresh()
        told = await asyncio.to_thread(farm.inside, pairs.name("agent"), look)
        found = farm.inspected(pairs.name("agent"))["HostConfig"]
    assert told.splitlines() == [str(["0" * 16] * 5 + ["1"]), "Read-only file system"]
    assert (found["Memory"], found["MemorySwap"], found["PidsLimit"]) == (1 << 27, 1 << 27, 20)
    assert found["NanoCpus"] == 500_000_000


async def test_an_agent_that_wants_a_disk_gets_memory_of_its_own(
    trial: DockerTrial, example: str
) -> None:
    """A full disk is infrastructure's fault: an agent that could fill it would buy itself a try."""
    name = "emufarm-test-agent:disk"
    file = f"FROM {example}\nVOLUME /data\n"
    docker("build", "--label", farm.LABEL, "-t", name, "-", text=file)
    look = "print([line.split()[2] for line in open('/proc/mounts') if ' /data ' in line])"
    async with running(trial, name) as pairs:
        await pairs.fresh()
        assert await asyncio.to_thread(farm.inside, pairs.name("agent"), look) == "['tmpfs']\n"


@pytest.mark.parametrize(
    ("program", "how"),
    [
        (
            farm.ENDS,
            "the agent's container ended with exit code 3; its last output: no tokens left",
        ),
        (farm.EATS, "container OOM-killed: the agent needed more than its 64 MB"),
        (farm.SLEEPS, "its container still runs"),
    ],
)
async def test_how_an_agent_ended_is_told_and_is_its_own_fault(
    trial: DockerTrial, example: str, program: str, how: str
) -> None:
    image = farm.build("emufarm-test-agent:ways", program)
    async with running(
        trial, image, limits=ContainerLimits(cpus=1, memory_mb=64, pids=20)
    ) as pairs:
        await pairs.fresh()
        while True:
            news = await pairs.agents.agent(DEVICE, "describe_end")
            if how in news.text or program == farm.SLEEPS:
                break
        assert news.fault == ""
        assert how in news.text
        assert [slot.state for slot in pairs.fleet.slots] == ["running"]
    assert trial.facts.empty()


async def test_a_program_that_is_not_in_its_image_is_the_agents_fault(
    trial: DockerTrial, example: str
) -> None:
    file = f'FROM {example}\nENTRYPOINT ["/none"]\n'
    docker("build", "--label", farm.LABEL, "-t", "emufarm-test-agent:none", "-", text=file)
    async with running(trial, "emufarm-test-agent:none") as pairs:
        news = await pairs.fresh()
    assert news.fault == "agent"
    assert "/none" in news.text


async def test_a_container_that_somebody_removed_is_not_the_agents_fault(
    trial: DockerTrial, example: str
) -> None:
    async with running(trial, example) as pairs:
        await pairs.fresh()
        await asyncio.to_thread(docker, "rm", "-f", pairs.name("agent"))
        news = await pairs.agents.agent(DEVICE, "describe_end")
    assert (news.fault, news.text) == ("farm", "its container is gone: somebody removed it")


def test_an_image_that_the_engine_has_not_is_a_usage_error(engine: Engine) -> None:
    with pytest.raises(UsageError, match="has no image 'no-such-agent:1': build or pull it first"):
        agent_image(engine, "no-such-agent:1")
