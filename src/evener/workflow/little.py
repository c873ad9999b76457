"""Open networks on a machine some of whose cores are throttled, as if they were little ones."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from evener.profile.find import with_little
from evener.runtime.throttle import Throttle, ThrottledRuntime, throttled
from evener.workflow.opened import Opened, find_processors, restrict


@dataclass(frozen=True, slots=True)
class Little:
    """Half of the fastest cluster, throttled.

    Attributes:
        share: share of each little core's time that may be used.
        throttle: the cores' groups.
    """

    share: float
    throttle: Throttle

    def on(self, opened: Opened, processors: Sequence[str] | None = None) -> Opened:
        """Return a network opened on the full half, "big", and the throttled one, "little".

        Args:
            opened: the network on the machine as it is.
            processors: names of the processors to use; None for all.

        Raises:
            InputError: a name that the machine does not have.
        """
        return replace(
            opened,
            machine=restrict(with_little(opened.machine, self.share), processors),
            runtimes={
                name: ThrottledRuntime(runtime, self.throttle)
                for name, runtime in opened.runtimes.items()
            },
        )


@contextmanager
def little_cores(share: float) -> Iterator[Little]:
    """Throttle half of the fastest cluster while the context is open.

    Args:
        share: share of each little core's time that may be used, in (0, 1).

    Raises:
        InputError: the cluster has one core, or this process may not limit one.
    """
    machine = with_little(find_processors(), share)
    shares = {core: one.share for one in machine.processors if one.share < 1 for core in one.cores}
    cores = [core for one in machine.processors for core in one.cores]
    with throttled(shares, cores) as throttle:
        yield Little(share, throttle)
