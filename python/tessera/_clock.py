"""Wall-clock times of the phases of a call."""

from __future__ import annotations

import time
from typing import Any


class Clock:
    """Wall-clock milliseconds of the phases of a call, which begins with it."""

    def __init__(self) -> None:
        self._began = self._lap = time.perf_counter()
        self.times_ms: dict[str, float | None] = {}

    def lap(self, phase: str) -> None:
        """Adds the time since the lap before to a phase."""
        now = time.perf_counter()
        self.times_ms[phase] = (self.times_ms.get(phase) or 0.0) + 1e3 * (now - self._lap)
        self._lap = now

    @property
    def total_ms(self) -> float:
        """Since the call began."""
        return 1e3 * (time.perf_counter() - self._began)

    def finish(self, facts: dict[str, Any], rest: str | None = None) -> dict[str, Any]:
        """Puts what is known here into the facts of a report, and the time of the whole call; what no phase has had is
        that of the phase `rest`."""
        facts["total_ms"] = self.total_ms
        times = {**facts["times_ms"], **self.times_ms}
        if rest:
            times[rest] = facts["total_ms"] - sum(ms or 0.0 for name, ms in times.items() if name != rest)
        facts["times_ms"] = times
        return facts
