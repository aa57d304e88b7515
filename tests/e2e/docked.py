"""The farm on a Docker engine, with means to disturb it while it runs."""

from __future__ import annotations

import queue
import subprocess
import time
from dataclasses import dataclass, replace

from orchestrator.coordinator.transitions import LeaseGranted
from tests.e2e.engine import Engine
from tests.e2e.thinker import Thinker
from tests.run.conftest import PATIENCE_S, Farm, ended

PROFILE = "sim-api34"


@dataclass(frozen=True)
class Docked:
    """`emufarm --backend docker`, its runs, and the engine they are on."""

    farm: Farm
    engine: Engine

    def run(self, folder: str, *words: str, name: str) -> tuple[int, str]:
        return ended(self.start(folder, *words, name=name))

    def start(self, folder: str, *words: str, name: str) -> subprocess.Popen[str]:
        place = ("--runs", str(self.farm.runs), "--run", name)
        return self.farm.start("run", folder, "--backend", "docker", *place, *words)

    def command(self, *words: str) -> tuple[int, str]:
        return ended(self.farm.start(*words))

    def without_engine(self) -> Farm:
        nobody = f"unix://{self.farm.runs}/no-engine.sock"
        return replace(self.farm, env={**self.farm.env, "DOCKER_HOST": nobody})

    def proves_itself(self, name: str) -> None:
        for command in ("verify", "audit"):
            code, output = self.command(command, str(self.farm.runs / name))
            assert code == 0, output

    def gateway(self) -> str:
        """This machine, as a container sees it."""
        shape = "{{(index .IPAM.Config 0).Gateway}}"
        (address,) = self.engine.listed("network", "inspect", "bridge", "--format", shape)
        return address

    def in_mid_attempt(
        self, process: subprocess.Popen[str], name: str, thinker: Thinker
    ) -> LeaseGranted:
        """The lease of the first one who waits for the agent."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "no agent was ever asked"
            try:
                address = thinker.thinking.get(timeout=0.2)
                break
            except queue.Empty:
                continue
        device = self._device_at(address)
        leases = [e for e in self.farm.events(name) if isinstance(e, LeaseGranted)]
        return next(one for one in reversed(leases) if one.device == device)

    def container(self, device: str, part: str) -> str:
        """The name of the worker's or the device's."""
        (name,) = (name for name in self._containers() if name.endswith(f"-{device}-{part}"))
        return name

    def left(self) -> list[str]:
        """What stands on the engine; on another's, what is labelled as ours."""
        ours = () if self.engine.ours else ("--filter", "label=emufarm.run")
        networks = self.engine.listed("network", "ls", "--format", "{{.Name}}", *ours)
        return [
            *self.engine.listed("ps", "--all", "--format", "{{.Names}}", *ours),
            *(one for one in networks if one not in ("bridge", "host", "none")),
            *self.engine.listed("volume", "ls", "--quiet", *ours),
        ]

    def _containers(self) -> list[str]:
        return self.engine.listed("ps", "--filter", "label=emufarm.run", "--format", "{{.Names}}")

    def _device_at(self, address: str) -> str:
        shape = "{{.Name}} {{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
        told = self.engine.docker("inspect", "--format", shape, *self._containers()).stdout
        (name,) = (line.split()[0] for line in told.splitlines() if address in line.split()[1:])
        return name.removesuffix("-worker").rpartition("-slot-")[2].join(("slot-", ""))
