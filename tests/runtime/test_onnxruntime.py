"""Networks in ONNX Runtime, on chosen cores."""

import numpy as np
import onnx
import pytest
from onnx import helper

from evener.artifacts.processors import Processor
from evener.errors import RuntimeFailedError
from evener.network.frames import random_frames
from evener.network.model import load_network
from evener.network.split import whole_model
from evener.runtime import pinning
from evener.runtime.onnxruntime import OnnxRuntime, _options, simplified
from evener.runtime.session import Runtime
from evener.testing import tiny
from evener.testing.session_contract import CORE, SessionContract, answer


class TestOnnxRuntime(SessionContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return OnnxRuntime()


def test_it_runs_on_cpus_only() -> None:
    runtime = OnnxRuntime()

    assert runtime.supports(Processor(name="cpu0", kind="cpu"))
    assert not runtime.supports(Processor(name="gpu0", kind="gpu"))


def test_a_caller_that_is_not_pinned_is_told_to_pin_itself() -> None:
    if len(pinning.PROCESS_CORES) < 2:
        pytest.skip("on one core every thread is pinned")

    with pytest.raises(RuntimeFailedError, match=r"inside evener.runtime.pinning.pinned"):
        OnnxRuntime().open(tiny.dense(), cores=(CORE,))


def test_no_core_is_refused() -> None:
    with pytest.raises(RuntimeFailedError, match="at least one core"):
        OnnxRuntime().open(tiny.dense(), cores=())


def test_a_thread_that_is_not_where_it_should_be_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pinning, "await_confirmed", lambda *_: frozenset({CORE}))
    cores = tuple(sorted(pinning.PROCESS_CORES))
    if len(cores) < 2:
        pytest.skip("needs two cores")

    with (
        pinning.pinned(cores),
        pytest.raises(RuntimeFailedError, match=f"the kernel confirms only {CORE};"),
    ):
        OnnxRuntime().open(tiny.dense(), cores=cores)


def test_threads_are_pinned_one_a_core_and_counted_from_one() -> None:
    options = _options((2, 5, 7), "all")

    assert options.intra_op_num_threads == 3
    assert options.inter_op_num_threads == 1
    assert options.get_session_config_entry("session.intra_op_thread_affinities") == "6;8"
    assert options.get_session_config_entry("session.force_spinning_stop") == "1"


def test_a_single_core_never_spins() -> None:
    entry = _options((2,), "all").get_session_config_entry("session.intra_op.allow_spinning")

    assert entry == "0"


def test_a_session_runs_in_the_thread_that_opened_it() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def opened() -> object:
        with pinning.pinned((CORE,)):
            return OnnxRuntime().open(tiny.dense(), cores=(CORE,))

    with ThreadPoolExecutor(1) as other:
        session = other.submit(opened).result()

    with pytest.raises(RuntimeFailedError, match="opened in another thread"):
        session.run([], [])  # type: ignore[attr-defined]


def test_a_failing_operator_is_reported_with_its_reason() -> None:
    model = tiny.network(
        [helper.make_node("NonZero", ["x"], ["y"])],
        inputs=[tiny.floats("x", 2, 3)],
        outputs=[helper.make_tensor_value_info("y", 7, [2, 3])],
    )
    with pinning.pinned((CORE,)):
        session = OnnxRuntime().open(model, cores=(CORE,))
        (x,) = tiny.frames(1, shape=(2, 3))[0]
        x[0, 0] = 0

        with pytest.raises(RuntimeFailedError, match=r"failed in the network.*NonZero"):
            session.run([x], [np.empty((2, 3), np.int64)])


def test_a_network_that_answers_with_no_tensor_is_refused() -> None:
    model = tiny.network(
        [helper.make_node("SequenceConstruct", ["x"], ["y"])],
        inputs=[tiny.floats("x", 2)],
        outputs=[helper.make_tensor_sequence_value_info("y", 1, [2])],
    )

    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match=r"'y' is a seq.*plain tensors"),
    ):
        OnnxRuntime().open(model, cores=(CORE,))


def test_one_core_cannot_compute_branches_at_once() -> None:
    with (
        pinning.pinned((CORE,)),
        pytest.raises(RuntimeFailedError, match=f"has only core {CORE}; give it three or more, or"),
    ):
        OnnxRuntime().open(tiny.forked(), cores=(CORE,), execution="parallel")


@pytest.mark.skipif(len(pinning.PROCESS_CORES) < 2, reason="needs two cores")
@pytest.mark.parametrize("name", ["googlenet", "squeezenet"])
def test_branches_at_once_answer_to_the_bit_as_one_after_the_other(name: str) -> None:
    network = load_network(name)
    model = whole_model(network)
    (frame,) = random_frames(network.inputs, 1, seed=0)
    cores = tuple(sorted(pinning.PROCESS_CORES))

    with pinning.pinned((CORE,)):
        alone = OnnxRuntime().open(model, cores=(CORE,), optimisation="extended")
        expected = answer(alone, frame)
    with pinning.pinned(cores):
        before = pinning.threads()
        together = OnnxRuntime().open(
            model, cores=cores, optimisation="extended", execution="parallel"
        )
        workers = pinning.threads() - before
        allowed = [pinning.thread_cores(worker) for worker in workers]
        found = answer(together, frame)
        together.close()

    np.testing.assert_array_equal(found[0], expected[0])
    assert allowed == [set(cores[1:])] * (len(cores) - 1)


def test_a_simplified_network_has_its_batch_normalisation_in_the_weights() -> None:
    rng = np.random.default_rng(0)
    numbers = {name: rng.uniform(0.5, 2, 4).astype(np.float32) for name in ("s", "b", "m", "v")}
    model = tiny.network(
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("BatchNormalization", ["c", *numbers], ["n"]),
            helper.make_node("Relu", ["n"], ["y"]),
        ],
        inputs=[tiny.floats("x", 1, 3, 5, 5)],
        outputs=[tiny.floats("y", 1, 4, 3, 3)],
        weights={"w": rng.normal(size=(4, 3, 3, 3)).astype(np.float32), **numbers},
    )
    (frame,) = tiny.frames(1, shape=(1, 3, 5, 5))

    simple = simplified(model, runtime="some")

    graph = onnx.load_from_string(simple).graph
    assert [(one.domain, one.op_type) for one in graph.node] == [("", "Conv"), ("", "Relu")]
    with pinning.pinned((CORE,)):
        found, right = (
            answer(OnnxRuntime().open(one, cores=(CORE,)), frame)[0] for one in (simple, model)
        )
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-5)


def test_what_cannot_be_simplified_is_refused_for_the_runtime_that_wanted_it() -> None:
    with pytest.raises(RuntimeFailedError, match="some cannot open the network") as caught:
        simplified(b"this is no model", runtime="some")

    assert caught.value.runtime == "some"
