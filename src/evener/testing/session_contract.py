"""What every runtime must do, as tests: override one fixture and let pytest collect the class.

from evener.testing.session_contract import SessionContract

class TestMyRuntime(SessionContract):
    @pytest.fixture
    def runtime(self):
        return MyRuntime()

`SessionContract` is for runtimes on CPU cores, `AnswerContract` for devices; there, give `cores`
and `processor` too.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import pytest
from onnx import helper

from evener.errors import InputError, RuntimeFailedError
from evener.runtime import pinning
from evener.runtime.session import Array, Runtime, Session, empty
from evener.testing import tiny

CORE = min(pinning.PROCESS_CORES)


class AnswerContract:
    """Contract of `evener.runtime.session.Runtime` and its sessions, on whatever processor."""

    relative = 1e-5
    """How far answers may be from numpy's, relative to the largest."""

    booleans = True
    """Whether truth values are exchanged; a runtime that cannot has to refuse them."""

    cores: ClassVar[tuple[int, ...]] = (CORE,)
    """Where sessions are opened; none for a device."""

    processor = ""
    """Name of the device, such as "gpu0"."""

    precision = "f32"
    """What it computes in."""

    def open(self, runtime: Runtime, model: bytes, *, precision: str = "") -> Session:
        """Open a network where the contract is tried."""
        return runtime.open(
            model, cores=self.cores, precision=precision or self.precision, processor=self.processor
        )

    def branching(self) -> bytes:
        """Make a network of several inputs and outputs that the runtime can exchange."""
        return tiny.branching(compare=self.booleans)

    @pytest.fixture
    def runtime(self) -> Runtime:
        """Return the runtime under test."""
        raise NotImplementedError("override the fixture `runtime`")

    @pytest.fixture(autouse=True)
    def on_one_core(self) -> Iterator[None]:
        """Keep the test's thread where its sessions are opened."""
        with pinning.pinned(self.cores):
            yield

    def test_it_says_its_name_and_version(self, runtime: Runtime) -> None:
        """Profiles and plans name it."""
        assert runtime.name
        assert runtime.version

    def test_a_session_knows_its_tensors_in_graph_order(self, runtime: Runtime) -> None:
        """Names, shapes and element types."""
        session = self.open(runtime, self.branching())

        assert [(t.name, t.shape, t.dtype) for t in session.inputs] == [
            ("a", (2, 3), "float32"),
            ("b", (2, 3), "float32"),
        ]
        assert [(t.name, t.shape, t.dtype) for t in session.outputs] == [
            ("sum", (2, 3), "float32"),
            *([("larger", (2, 3), "bool")] * self.booleans),
            ("total", (2,), "float32"),
        ]

    def test_names_are_the_graphs_also_where_an_identity_is_optimised_away(
        self, runtime: Runtime
    ) -> None:
        """A stage finds what it hands on by its name."""
        model = tiny.network(
            [
                helper.make_node("Identity", ["x"], ["after"]),
                helper.make_node("Relu", ["after"], ["before"]),
                helper.make_node("Identity", ["before"], ["y"]),
            ],
            inputs=[tiny.floats("x", 2)],
            outputs=[tiny.floats("y", 2)],
        )
        session = self.open(runtime, model)

        assert [tensor.name for tensor in (*session.inputs, *session.outputs)] == ["x", "y"]

    def test_all_outputs_are_written_into_the_callers_arrays(self, runtime: Runtime) -> None:
        """Every output, from every input."""
        session = self.open(runtime, self.branching())
        a = np.array([[1, 5, 2], [0, -1, 4]], np.float32)
        b = np.array([[3, 1, 2], [8, -2, 1]], np.float32)

        answers = answer(session, [a, b])

        np.testing.assert_array_equal(answers[0], a + b)
        np.testing.assert_array_equal(answers[-1], (a + b).max(axis=1))
        if self.booleans:
            np.testing.assert_array_equal(answers[1], a > b)

    def test_an_input_that_is_also_an_output_is_handed_on(self, runtime: Runtime) -> None:
        """As where a tensor passes a segment untouched; the input itself stays as it was."""
        session = self.open(runtime, tiny.passing())
        x = np.array([[1, -5, 2], [0, -1, 4]], np.float32)
        kept = x.copy()

        outputs = answer(session, [x])

        np.testing.assert_array_equal(outputs[0], np.maximum(kept, 0))
        np.testing.assert_array_equal(outputs[1], kept)
        np.testing.assert_array_equal(x, kept)

    def test_new_content_in_the_same_arrays_gives_new_answers(self, runtime: Runtime) -> None:
        """A session sees what its arrays hold now, not what they held when first used."""
        session = self.open(runtime, tiny.dense())
        (weights_x,) = tiny.frames(1)[0]
        x, outputs = np.empty_like(weights_x), [empty(t) for t in session.outputs]

        for (frame,) in tiny.frames(5):
            x[:] = frame
            session.run([x], outputs)
            np.testing.assert_array_equal(outputs[0], answer(session, [frame.copy()])[0])

    def test_many_arrays_in_turn_each_get_their_own_answer(self, runtime: Runtime) -> None:
        """More of them than any memory of bindings holds."""
        session = self.open(runtime, tiny.dense())
        frames = tiny.frames(100)
        outputs = [[empty(t) for t in session.outputs] for _ in frames]
        for frame, written in zip(frames, outputs, strict=True):
            session.run(frame, written)

        for frame, written in zip(frames, outputs, strict=True):
            np.testing.assert_array_equal(written[0], answer(session, frame)[0])

    def test_answers_are_those_of_the_formula(self, runtime: Runtime) -> None:
        """In the precision that it was asked for."""
        session = self.open(runtime, tiny.dense())
        weights = np.random.default_rng((0, 0)).normal(size=(tiny.WIDTH, tiny.WIDTH))
        weights = weights.astype(np.float32) / tiny.WIDTH**0.5

        for frame in tiny.frames(3):
            expected = np.tanh(frame[0] @ weights)
            error = np.abs(answer(session, frame)[0] - expected).max() / np.abs(expected).max()
            assert error <= self.relative

    def test_the_same_frame_gives_the_same_bits_each_time(self, runtime: Runtime) -> None:
        """Also in a second session."""
        frame = tiny.frames(1)[0]
        first, second = (self.open(runtime, tiny.dense(layers=4)) for _ in range(2))

        assert len({answer(one, frame)[0].tobytes() for one in (first, first, second)}) == 1

    def test_inputs_that_may_not_be_written_are_read(self, runtime: Runtime) -> None:
        """As those of a memory-mapped file."""
        session = self.open(runtime, tiny.dense())
        frame = tiny.frames(1)[0]
        expected = answer(session, frame)[0]
        fixed = frame[0].copy()
        fixed.flags.writeable = False

        np.testing.assert_array_equal(answer(session, [fixed])[0], expected)

    def test_a_closed_session_may_be_closed_again_and_runs_no_more(self, runtime: Runtime) -> None:
        """A second close does nothing."""
        session = self.open(runtime, tiny.dense())
        session.close()
        session.close()

        with pytest.raises(RuntimeFailedError, match="closed"):
            session.run(tiny.frames(1)[0], [np.empty((2, tiny.WIDTH), np.float32)])

    @pytest.mark.parametrize(
        "array",
        [
            np.zeros((2, 9), np.float32),
            np.zeros((2, tiny.WIDTH), np.float64),
            np.zeros((tiny.WIDTH, 2), np.float32).T,
        ],
        ids=["shape", "type", "layout"],
    )
    def test_arrays_that_do_not_fit_are_refused(self, runtime: Runtime, array: Array) -> None:
        """Before a runtime reads past their end."""
        session = self.open(runtime, tiny.dense())
        fitting = np.zeros((2, tiny.WIDTH), np.float32)

        with pytest.raises(RuntimeFailedError, match="'x'"):
            session.run([array], [fitting.copy()])
        with pytest.raises(RuntimeFailedError, match="'y'"):
            session.run([fitting], [array])

    def test_a_wrong_count_of_arrays_is_refused(self, runtime: Runtime) -> None:
        """With both counts in the message."""
        session = self.open(runtime, tiny.dense())

        with pytest.raises(RuntimeFailedError, match=r"2 inputs and 0 outputs.*has 1 and 1"):
            session.run([np.zeros(1), np.zeros(1)], [])

    def test_a_session_does_not_keep_the_bytes_it_was_opened_from(self, runtime: Runtime) -> None:
        """A network of hundreds of MB would be in memory twice."""
        model = tiny.dense()
        before = sys.getrefcount(model)
        session = self.open(runtime, model)
        session.run(tiny.frames(1)[0], [np.empty((2, tiny.WIDTH), np.float32)])

        assert sys.getrefcount(model) == before

    def test_what_is_no_network_is_refused(self, runtime: Runtime) -> None:
        """With the runtime's name in the error."""
        with pytest.raises(RuntimeFailedError, match="cannot open the network") as caught:
            self.open(runtime, b"this is no model")

        assert caught.value.runtime == runtime.name

    def test_an_open_shape_is_refused(self, runtime: Runtime) -> None:
        """Networks get static shapes before they are opened."""
        model = tiny.network(
            [helper.make_node("Relu", ["x"], ["y"])],
            inputs=[tiny.floats("x", "batch", 3)],
            outputs=[tiny.floats("y", "batch", 3)],
        )

        with pytest.raises(RuntimeFailedError, match=r"'x'.*not fixed"):
            self.open(runtime, model)

    def test_an_unknown_precision_is_refused_and_those_there_are_named(
        self, runtime: Runtime
    ) -> None:
        """Rather than computed in another one."""
        with pytest.raises(RuntimeFailedError, match=rf"{self.precision}.*not in 'f3'"):
            self.open(runtime, tiny.dense(), precision="f3")

    def test_truth_values_are_exchanged_or_refused(self, runtime: Runtime) -> None:
        """With the tensor's or the operator's name in the error."""
        try:
            session = self.open(runtime, tiny.branching())
        except RuntimeFailedError as error:
            assert not self.booleans
            assert "larger" in str(error) or "Greater" in str(error)  # noqa: PT017 - as above
            return

        assert self.booleans
        assert session.outputs[1].dtype == "bool"

    def test_text_goes_through_or_is_refused(self, runtime: Runtime) -> None:
        """Its elements are no plain memory."""
        model = tiny.network(
            [helper.make_node("Identity", ["x"], ["y"])],
            inputs=[helper.make_tensor_value_info("x", 8, [2])],
            outputs=[helper.make_tensor_value_info("y", 8, [2])],
        )
        try:
            session = self.open(runtime, model)
        except RuntimeFailedError as error:
            assert error.runtime == runtime.name  # noqa: PT017 - either way is right
            return
        outputs = [np.empty(2, object)]
        session.run([np.array(["one", "two"], object)], outputs)

        assert outputs[0].tolist() == ["one", "two"]


class SessionContract(AnswerContract):
    """Contract of a runtime that computes on CPU cores."""

    def test_a_core_that_is_not_the_processs_is_refused(self, runtime: Runtime) -> None:
        """Rather than run elsewhere."""
        foreign = max(pinning.PROCESS_CORES) + 1000

        with pytest.raises(InputError, match=f"core {foreign} is not among"):
            runtime.open(tiny.dense(), cores=(foreign,))

    def test_one_core_means_that_no_other_thread_computes(self, runtime: Runtime) -> None:
        """By the kernel's account of CPU time."""
        session = self.open(runtime, tiny.dense(layers=3, width=384))
        frame = tiny.frames(1, shape=(2, 384))[0]
        outputs = [empty(t) for t in session.outputs]
        session.run(frame, outputs)
        others = frozenset(pinning.threads())
        before = {thread: pinning.thread_cpu_s(thread) for thread in others}
        for _ in range(200):
            session.run(frame, outputs)
        spent = {
            thread: pinning.thread_cpu_s(thread) - before[thread]
            for thread in others
            if thread in pinning.threads()
        }

        elsewhere = {thread for thread in spent if not pinning.thread_cores(thread) <= {CORE}}
        assert sum(spent.values()) > 0
        assert sum(spent[thread] for thread in elsewhere) <= 0.1 * sum(spent.values())

    @pytest.mark.skipif(len(pinning.PROCESS_CORES) < 2, reason="needs two cores")
    def test_all_cores_are_used_and_no_other(self, runtime: Runtime) -> None:
        """One thread a core, each where the kernel confirms it."""
        cores = tuple(sorted(pinning.PROCESS_CORES))
        with pinning.pinned(cores):
            before = pinning.threads()
            session = runtime.open(tiny.dense(), cores=cores)
            confirmed = pinning.confirmed_cores(frozenset(cores), before)
            frame = tiny.frames(1)[0]
            result = answer(session, frame)[0]
        with pinning.pinned((CORE,)):
            alone = answer(self.open(runtime, tiny.dense()), frame)[0]

        assert confirmed == set(cores)
        np.testing.assert_allclose(result, alone, rtol=0, atol=1e-5)

    @pytest.mark.skipif(len(pinning.PROCESS_CORES) < 2, reason="needs two cores")
    def test_branches_at_once_answer_as_one_after_the_other_or_are_refused(
        self, runtime: Runtime
    ) -> None:
        """With the runtime's name in the error; every thread on a core of the session's."""
        cores = tuple(sorted(pinning.PROCESS_CORES))
        frame = tiny.frames(2)
        alone = answer(self.open(runtime, tiny.forked()), frame[0])
        with pinning.pinned(cores):
            before = pinning.threads()
            try:
                session = runtime.open(tiny.forked(), cores=cores, execution="parallel")
            except RuntimeFailedError as error:
                assert error.runtime == runtime.name  # noqa: PT017 - either way is right
                assert "sequential" in str(error)  # noqa: PT017 - as above
                return
            confirmed = pinning.confirmed_cores(frozenset(cores), before)
            together = answer(session, frame[0])
            session.close()

        assert confirmed == set(cores)
        np.testing.assert_allclose(together[0], alone[0], rtol=0, atol=1e-5)


def answer(session: Session, inputs: Sequence[Array]) -> list[Array]:
    """Run one frame into fresh arrays whose old content would show."""
    outputs = [empty(tensor) for tensor in session.outputs]
    for output in outputs:
        output.view(np.uint8).fill(0x5A) if output.dtype != object else output.fill("unwritten")
    session.run(inputs, outputs)
    return outputs
