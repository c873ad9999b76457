"""How much slower a core is while others work."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from evener.artifacts.processors import Machine, Processor
from evener.artifacts.profile import Contention, Execution, SegmentTime
from evener.artifacts.tensor import Tensor
from evener.errors import RuntimeFailedError
from evener.profile import contention as under_test
from evener.profile.contention import measure_contention
from evener.runtime.pinning import PROCESS_CORES, thread_cores
from evener.runtime.session import Array, Optimisation, Session

CORES = tuple(sorted(PROCESS_CORES))


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class FakeSession:
    inputs = (Tensor(name="x", shape=(1,), dtype="float32"),)
    outputs = (Tensor(name="y", shape=(1,), dtype="float32"),)

    def __init__(self, runtime: "FakeRuntime") -> None:
        self._runtime = runtime

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:  # noqa: ARG002 - zeros
        outputs[0][:] = 0
        self._runtime.ran()

    def close(self) -> None:
        self._runtime.open_sessions -= 1


class FakeRuntime:
    """A runtime whose runs take 1 s alone and 1.5 s in company; the fake company sets the event."""

    name = "fake"
    version = "1"

    def __init__(self, clock: Clock) -> None:
        self.company = threading.Event()
        self.open_sessions = 0
        self.cores: list[tuple[int, ...]] = []
        self._clock = clock

    def supports(self, processor: Processor) -> bool:
        return processor.kind == "cpu"

    def ran(self) -> None:
        self._clock.now_s += 1.5 if self.company.is_set() else 1.0

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",  # noqa: ARG002 - one will do
        optimisation: Optimisation = "all",  # noqa: ARG002 - nothing to optimise
        execution: Execution = "sequential",  # noqa: ARG002 - no branches
        processor: str = "",  # noqa: ARG002 - cores need none
    ) -> Session:
        if model == b"refused":
            raise RuntimeFailedError("fake refuses", runtime="fake")
        assert not cores or thread_cores() == {cores[0]}
        self.open_sessions += 1
        self.cores.append(cores)
        return FakeSession(self)


def machine(*clusters: tuple[int, ...]) -> Machine:
    return Machine(
        host="here",
        system="Linux",
        runtimes={"fake": "1"},
        processors=tuple(
            Processor(name=f"cpu{number}", kind="cpu", cores=cores)
            for number, cores in enumerate(clusters)
        ),
    )


def whole(processor: str, cores: int = 1) -> SegmentTime:
    return SegmentTime(
        first_block=0,
        last_block=3,
        processor=processor,
        cores=cores,
        runtime="fake",
        median_s=1.0,
        low_s=1.0,
        high_s=1.0,
        repeats=3,
    )


def measure(on: Machine, runtime: FakeRuntime, clock: Clock) -> tuple[Contention, ...]:
    wholes = [whole(one.name) for one in on.processors]
    return measure_contention(
        on, b"net", wholes, runtimes={"fake": runtime}, optimisation="all", clock=clock
    )


@pytest.fixture
def two_cores() -> None:
    """Skip a test that pins to two cores."""
    if len(CORES) < 2:
        pytest.skip("this process may use one core only")


@pytest.fixture
def company(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Let the company be an event that slows the fake runtime, and note on which cores it is."""
    seats: list[list[int]] = []

    @contextmanager
    def stand_in(
        given: Sequence[tuple[FakeRuntime, str, int]], model: bytes, optimisation: Optimisation
    ) -> Iterator[threading.Event]:
        assert (model, optimisation) == (b"net", "all")
        seats.append([core for _, _, core in given])
        yield given[0][0].company

    monkeypatch.setattr(under_test, "_company", stand_in)
    return seats


def test_the_factor_is_the_time_in_company_over_that_alone(company: list[list[int]]) -> None:
    clock = Clock()
    runtime = FakeRuntime(clock)
    core = CORES[0]

    found = measure(machine((core, 901, 902)), runtime, clock)

    assert found == (Contention(processor="cpu0", others=2, factor=1.5),)
    assert company == [[901, 902]]
    assert runtime.open_sessions == 0


@pytest.mark.usefixtures("two_cores")
def test_other_processors_are_company_too_up_to_seven_cores(company: list[list[int]]) -> None:
    clock = Clock()
    first, second = CORES[:2]

    found = measure(machine((first, *range(901, 911)), (second,)), FakeRuntime(clock), clock)

    assert [(one.processor, one.others) for one in found] == [("cpu0", 7), ("cpu1", 7)]
    assert company == [list(range(901, 908)), [first, *range(901, 907)]]


def test_a_processor_without_a_time_on_one_core_has_no_factor(company: list[list[int]]) -> None:
    clock = Clock()
    on = machine((CORES[0], 901))

    found = measure_contention(
        on,
        b"net",
        [whole("cpu0", cores=2)],
        runtimes={"fake": FakeRuntime(clock)},
        optimisation="all",
        clock=clock,
    )

    assert found == ()
    assert company == []


def test_a_core_without_company_has_no_factor() -> None:
    clock = Clock()

    assert measure(machine((CORES[0],)), FakeRuntime(clock), clock) == ()


def test_company_works_while_it_is_told_to_on_its_own_core_and_leaves_nothing_open() -> None:
    worked = threading.Event()
    working: list[threading.Event] = []

    class Companion(FakeRuntime):
        def ran(self) -> None:
            assert thread_cores() == {CORES[-1]}
            if working and working[0].is_set():
                worked.set()

    runtime = Companion(Clock())

    with under_test._company([(runtime, "f32", CORES[-1])], b"net", "all") as event:
        assert not worked.is_set()
        working.append(event)
        event.set()
        assert worked.wait(10)
        assert runtime.open_sessions == 1

    assert runtime.open_sessions == 0
    assert runtime.cores == [(CORES[-1],)]


def test_company_that_cannot_open_is_an_error() -> None:
    runtime = FakeRuntime(Clock())

    with (
        pytest.raises(RuntimeFailedError, match="fake refuses"),
        under_test._company([(runtime, "f32", CORES[-1])], b"refused", "all"),
    ):
        pytest.fail("nobody came")


def test_a_device_has_all_cores_for_company_and_is_company_to_none(
    company: list[list[int]],
) -> None:
    clock = Clock()
    cores = machine((CORES[0], *range(901, 910)))
    gpu = Processor(name="gpu0", kind="gpu")
    on = msgspec.structs.replace(cores, processors=(*cores.processors, gpu))

    found = measure(on, FakeRuntime(clock), clock)

    assert [(one.processor, one.others) for one in found] == [("cpu0", 7), ("gpu0", 10)]
    assert company[1] == [CORES[0], *range(901, 910)]
