"""Joining the sessions of a lane."""

import numpy as np
import pytest

from evener.artifacts.tensor import Tensor
from evener.errors import InputError
from evener.run.wiring import Circuit, Place, wire
from evener.testing.scripted_runtime import ScriptedRuntime, ScriptedSession, vector


def sessions(*texts: str) -> list[ScriptedSession]:
    return [ScriptedSession(text, ScriptedRuntime()) for text in texts]


def test_what_only_the_lane_needs_is_its_own_and_the_rest_goes_on() -> None:
    wiring = wire(sessions("x>a", "a,x>b,c"), inputs=[vector("x")], outputs=("c", "a"), stage=0)

    assert wiring.reads == ((Place("in", 0),), (Place("out", 1), Place("in", 0)))
    assert wiring.writes == ((Place("out", 1),), (Place("own", 0), Place("out", 0)))
    assert wiring.own == (vector("b"),)
    assert wiring.outputs == (vector("c"), vector("a"))


def test_a_tensor_that_passes_is_copied() -> None:
    made = sessions("x>y")
    wiring = wire(made, inputs=[vector("u"), vector("x")], outputs=("y", "u"), stage=0)
    inputs = [np.full(2, 5, np.float32), np.full(2, 7, np.float32)]
    outputs = [np.zeros(2, np.float32), np.zeros(2, np.float32)]
    Circuit(made, wiring).run(inputs, outputs)

    assert wiring.passed == ((0, 1),)
    assert [output[0] for output in outputs] == [8, 5]


def test_what_nothing_makes_is_named() -> None:
    with pytest.raises(InputError, match="stage 3 reads 'z', which no earlier .*; it has x$"):
        wire(sessions("z>y"), inputs=[vector("x")], outputs=("y",), stage=3)
    with pytest.raises(InputError, match="stage 3 is to hand on 'w', which none of its segments"):
        wire(sessions("x>y"), inputs=[vector("x")], outputs=("w",), stage=3)


def test_two_views_of_one_tensor_are_refused() -> None:
    wide = Tensor(name="x", shape=(4,), dtype="float32")
    with pytest.raises(InputError, match=r"'x' as float32 \[2\], but it is made as float32 \[4\]"):
        wire(sessions("x>y"), inputs=[wide], outputs=("y",), stage=0)
