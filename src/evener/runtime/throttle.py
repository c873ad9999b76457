"""Run networks on cores of which only a share may be used, as if they were slower ones.

A throttled runtime is the runtime it wraps: when it has opened a session, every thread of this
process that is pinned to a throttled core goes into that core's control group, the caller's among
them, and a thread that is pinned to a full core leaves whichever group it was born in.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.artifacts.tensor import Tensor
from evener.errors import EvenerError, InputError
from evener.runtime import pinning
from evener.runtime.cgroup import Hierarchy, find_hierarchy, limited
from evener.runtime.cgroup import move as move_thread
from evener.runtime.session import Array, Optimisation, Runtime, Session

_FREE = "free"


@dataclass(frozen=True, slots=True)
class Throttle:
    """The groups of the throttled cores.

    Whatever moves threads raises EvenerError where a group takes none, for it is gone.

    Attributes:
        by_core: file that takes the threads of a throttled core, by its number.
        free: the same for threads that are pinned to no core, see `together`.
        home: the same for threads that are not throttled.
    """

    by_core: Mapping[int, Path]
    free: Path
    home: Path

    def settle(self) -> None:
        """Put each thread of this process that is pinned to one core where it belongs."""
        self._settle(others=None)

    def follow(self) -> None:
        """Do the same while `together` holds, where all other threads share what the cores may."""
        self._settle(others=self.free)

    def _settle(self, others: Path | None) -> None:
        for thread in pinning.threads():
            cores = pinning.thread_cores(thread)
            if len(cores) == 1:
                _move(thread, self.by_core.get(min(cores), self.home))
            elif cores and others is not None:
                _move(thread, others)

    def release(self, thread: int) -> None:
        """Let a thread run as it likes."""
        _move(thread, self.home)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Limit all threads of this process to what its cores may do together, meanwhile.

        For a runtime whose threads wander between a throttled core and a full one; `follow` takes
        out those that it pins, for as long as it does. No lane may be at work.
        """
        for thread in pinning.threads():
            _move(thread, self.free)
        try:
            yield
        finally:
            for thread in pinning.threads():
                self.release(thread)
            self.settle()


def _move(thread: int, to: Path) -> None:
    try:
        move_thread(thread, to)
    except OSError as error:
        raise EvenerError(
            f"a thread cannot be put where its core is throttled: {error}; leave the control "
            "groups of this process alone while it runs, or throttle no core"
        ) from error


@contextmanager
def throttled(
    shares: Mapping[int, float], cores: Sequence[int], *, hierarchy: Hierarchy | None = None
) -> Iterator[Throttle]:
    """Throttle some cores for this process while the context is open.

    Args:
        shares: which share of a core's time may be used, in (0, 1), by its number.
        cores: all cores in use, the full ones among them.
        hierarchy: where groups can be made; found if None.

    Raises:
        InputError: a share or a core that cannot be, or no group can be made here.
    """
    wrong = {core: share for core, share in shares.items() if not 0 < share < 1}
    if wrong or not set(shares) <= set(cores):
        raise InputError(
            f"cores {pinning.show_cores(tuple(shares))} cannot be limited to "
            f"{', '.join(map(str, shares.values()))}: shares lie between 0 and 1, and the cores "
            f"among {pinning.show_cores(tuple(cores))}"
        )
    where = hierarchy or find_hierarchy()
    wanted = {f"cpu{core}": share for core, share in shares.items()}
    wanted[_FREE] = sum(shares.get(core, 1.0) for core in cores)
    with limited(where, wanted) as groups:
        yield Throttle(
            by_core={core: groups[f"cpu{core}"] for core in shares},
            free=groups[_FREE],
            home=where.threads,
        )


@dataclass(frozen=True, slots=True)
class ThrottledRuntime:
    """A runtime whose threads are throttled on throttled cores.

    Attributes:
        inner: what computes.
        throttle: the groups.
    """

    inner: Runtime
    throttle: Throttle

    @property
    def name(self) -> str:
        """Its name in plans: it is the same runtime on other cores."""
        return self.inner.name

    @property
    def version(self) -> str:
        """Version of what computes."""
        return self.inner.version

    def supports(self, processor: Processor) -> bool:
        """Whether what computes does."""
        return self.inner.supports(processor)

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",
        optimisation: Optimisation = "all",
        execution: Execution = "sequential",
        processor: str = "",
    ) -> Session:
        """Open a network; see `evener.runtime.session.Runtime.open`."""
        session = self.inner.open(
            model,
            cores=cores,
            precision=precision,
            optimisation=optimisation,
            execution=execution,
            processor=processor,
        )
        self.throttle.settle()
        return ThrottledSession(session, self.throttle)


class ThrottledSession:
    """A session whose caller is throttled until it is closed. Made by `ThrottledRuntime.open`."""

    def __init__(self, inner: Session, throttle: Throttle) -> None:
        self.inputs: tuple[Tensor, ...] = inner.inputs
        self.outputs: tuple[Tensor, ...] = inner.outputs
        self._inner = inner
        self._throttle = throttle
        self._thread = threading.get_native_id()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute one frame; see `evener.runtime.session.Session.run`."""
        self._inner.run(inputs, outputs)

    def close(self) -> None:
        """Give back its threads and memory, and let its caller run as it likes."""
        self._inner.close()
        self._throttle.release(self._thread)
