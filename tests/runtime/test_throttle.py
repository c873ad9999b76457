"""Sessions whose threads are in the groups of the cores that they are pinned to."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.processors import Processor
from evener.errors import EvenerError, InputError
from evener.runtime.cgroup import Hierarchy, find_hierarchy, limited
from evener.runtime.onnxruntime import OnnxRuntime
from evener.runtime.pinning import PROCESS_CORES, pinned, thread_cores
from evener.runtime.session import empty
from evener.runtime.throttle import Throttle, ThrottledRuntime, throttled
from evener.testing.tiny import dense

FULL, LITTLE = (*sorted(PROCESS_CORES), -1)[:2]


@pytest.fixture
def possible() -> None:
    """Skip a test that needs two cores and the right to throttle one."""
    if LITTLE < 0:
        pytest.skip("a throttled core beside a full one takes two, and there is one")
    try:
        with limited(find_hierarchy(), {"probe": 0.9}):
            pass
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def throttle(possible: None) -> Iterator[Throttle]:  # noqa: ARG001 - asked for its skip
    with throttled({LITTLE: 0.4}, (FULL, LITTLE)) as made:
        yield made


def members(group: Path) -> set[int]:
    return set(map(int, group.read_text().split()))


def own() -> int:
    return threading.get_native_id()


def test_a_caller_is_in_the_group_of_its_core_until_the_session_is_closed(
    throttle: Throttle,
) -> None:
    runtime = ThrottledRuntime(OnnxRuntime(), throttle)
    group = throttle.by_core[LITTLE]

    with pinned((LITTLE,)):
        session = runtime.open(dense(), cores=(LITTLE,))
        assert own() in members(group)
        session.close()
        assert own() not in members(group)


@pytest.mark.parametrize("order", [1, -1])
def test_a_session_on_full_and_little_cores_has_its_little_thread_alone_in_the_group(
    throttle: Throttle, order: int
) -> None:
    cores = (FULL, LITTLE)[::order]
    runtime = ThrottledRuntime(OnnxRuntime(), throttle)

    with pinned(cores):
        session = runtime.open(dense(), cores=cores)
        inside = members(throttle.by_core[LITTLE])
        session.close()

    # Seen while it was open: the caller itself if it is the little one, else the pool's thread.
    assert (own() in inside) == (cores[0] == LITTLE)
    assert inside
    assert all(thread_cores(one) <= {LITTLE} for one in inside - {own()})


def test_a_throttled_session_answers_as_the_runtime_itself_does(throttle: Throttle) -> None:
    x = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32)
    answers = []
    for runtime in (OnnxRuntime(), ThrottledRuntime(OnnxRuntime(), throttle)):
        with pinned((LITTLE,)):
            session = runtime.open(dense(), cores=(LITTLE,))
            output = [empty(tensor) for tensor in session.outputs]
            session.run([x], output)
            answers.append((session.inputs, session.outputs, output[0].tolist()))
            session.close()

    assert answers[0] == answers[1]


def test_a_throttled_runtime_is_the_same_in_plans(throttle: Throttle) -> None:
    inner, runtime = OnnxRuntime(), ThrottledRuntime(OnnxRuntime(), throttle)

    assert (runtime.name, runtime.version) == (inner.name, inner.version)
    assert runtime.supports(Processor(name="cpu0", kind="cpu"))
    assert not runtime.supports(Processor(name="npu0", kind="npu"))


def test_all_threads_can_be_limited_to_what_the_cores_may_do_together(throttle: Throttle) -> None:
    with throttle.together():
        assert own() in members(throttle.free)

    assert own() in members(throttle.home)
    assert members(throttle.free) == set()


@pytest.mark.parametrize("gone", ["free", "home"])
def test_a_group_that_is_gone_is_an_error_before_the_work_and_after_it(
    tmp_path: Path, gone: str
) -> None:
    groups = {"free": tmp_path / "free", "home": tmp_path / "home"}
    for group in groups.values():
        group.touch()
    groups[gone].unlink()
    throttle = Throttle(by_core={}, **groups)

    with (
        pytest.raises(EvenerError, match=f"a thread cannot be put .*{gone}.*throttle no core"),
        throttle.together(),
    ):
        pass


@pytest.mark.usefixtures("possible")
def test_nothing_is_left_behind() -> None:
    with throttled({LITTLE: 0.5}, (FULL, LITTLE)) as made:
        folders = [group.parent for group in (*made.by_core.values(), made.free)]
        assert all(folder.exists() for folder in folders)

    assert not any(folder.exists() for folder in folders)


@pytest.mark.parametrize(
    ("shares", "text"),
    [({0: 1.0}, "cores 0 cannot be limited to 1.0"), ({5: 0.5}, "the cores among 0, 1")],
)
def test_a_share_or_core_that_cannot_be_is_bad_input(shares: dict[int, float], text: str) -> None:
    with pytest.raises(InputError, match=text), throttled(shares, (0, 1)):
        pytest.fail("nothing can be throttled so")


def test_without_permission_the_error_names_the_folder(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
    with (
        pytest.raises(InputError, match=f"no core can be limited: {tmp_path}.*root or a delegated"),
        throttled({0: 0.5}, (0, 1), hierarchy=Hierarchy(tmp_path, version=2)),
    ):
        pytest.fail("no kernel is behind this folder")
