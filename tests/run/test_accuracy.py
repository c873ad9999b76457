"""Answers in lower precision are judged by those in f32, and by labels."""

import numpy as np
import pytest

from evener.run.accuracy import Allowed, judge, worst_of
from evener.run.equality import Answers, top_of

F32 = [[np.array([[4.0, 1.0, 0.0]])], [np.array([[0.0, 1.0, 0.5]])]]
SAME = [[np.array([[3.9, 1.0, 0.0]])], [np.array([[0.0, 1.0, 0.5]])]]
ONE_OFF = [[np.array([[4.0, 1.0, 0.0]])], [np.array([[0.0, 0.4, 0.5]])]]
NO_CLASS = [[np.eye(2)], [np.eye(2)]]


def test_the_error_is_the_largest_over_the_largest_output_of_all_frames() -> None:
    found = judge("int8", F32, SAME, allowed=Allowed(max_error=0.03))

    assert (found.precision, found.frames) == ("int8", 2)
    assert found.error == pytest.approx(0.025)
    assert found.admitted


@pytest.mark.parametrize(
    ("allowed", "admitted"),
    [
        (Allowed(max_error=0.15), True),
        (Allowed(max_error=0.14), False),
        (Allowed(min_accuracy=0.5), True),
        (Allowed(min_accuracy=0.51), False),
        (Allowed(max_error=0.15, min_accuracy=0.51), False),
        (Allowed(max_error=0.14, min_accuracy=0.5), False),
    ],
)
def test_both_limits_have_to_be_kept(allowed: Allowed, admitted: bool) -> None:
    found = judge("int8", F32, ONE_OFF, allowed=allowed)

    assert found.agreement == 0.5
    assert (found.accuracy, found.accuracy_f32) == (None, None)
    assert found.admitted == admitted


def test_with_labels_it_is_the_right_answers_that_count() -> None:
    labels = np.array([0, 2])
    found = judge("int8", F32, ONE_OFF, allowed=Allowed(min_accuracy=1.0), labels=labels)

    assert (found.accuracy, found.accuracy_f32, found.agreement) == (1.0, 0.5, 0.5)
    assert found.admitted


def test_without_a_class_there_is_no_agreement_and_no_share_to_keep() -> None:
    found = judge("int8", NO_CLASS, NO_CLASS, allowed=Allowed(min_accuracy=0.1))

    assert found.agreement is None
    assert not found.admitted


def test_a_frame_that_is_answered_by_zeros_is_measured_by_the_other_frames() -> None:
    nothing, something = [np.zeros((1, 1, 2))], [np.array([[[0.0, 0.8]]])]
    found = [[np.array([[[0.004, 0.0]]])], [np.array([[[0.0, 0.8]]])]]

    judged = judge("int8", [nothing, something], found, allowed=Allowed(max_error=0.01))

    assert judged.error == pytest.approx(0.005)
    assert judged.admitted


def test_answers_that_are_not_finite_are_not_admitted() -> None:
    broken = [F32[0], [np.array([[0.0, np.nan, 0.5]])]]

    assert not judge("fp16", F32, broken, allowed=Allowed(max_error=1e9)).admitted


def test_of_several_ways_through_a_plan_the_worst_counts_in_each_respect() -> None:
    allowed = Allowed(max_error=0.1)
    near, off = (judge("int8", F32, one, allowed=allowed) for one in (SAME, ONE_OFF))

    worst = worst_of([near, off])

    assert (worst.error, worst.agreement, worst.admitted) == (off.error, 0.5, False)
    assert worst_of([near, near]) == near


def test_a_run_counts_the_top_answers_that_are_the_unsplit_networks() -> None:
    answers = Answers(F32)

    for number in range(4):
        answers.compare(number, ONE_OFF[number % 2])

    assert (answers.frames, answers.agreeing) == (4, 2)
    assert Answers(NO_CLASS).agreeing is None


def test_a_single_number_is_no_choice_of_a_class() -> None:
    assert top_of([np.array([[0.3]], np.float32)]) is None
    assert top_of([np.array([1, 2])]) is None
