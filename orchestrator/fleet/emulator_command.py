"""The emulator's command line, with a noise seed of its own for each slot if noise is on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EmulatorCommand:
    words: tuple[str, ...]
    noise: int | None = None

    def for_slot(self, number: int) -> list[str]:
        """With noise, every slot's phone has a seed of its own."""
        if self.noise is None:
            return list(self.words)
        return [*self.words, "-sim-noise", str(self.noise * 1000 + number)]
