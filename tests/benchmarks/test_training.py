"""Timing iterations of training."""

import time

import training


def test_a_weight_of_the_first_layer_moves_twelve_bytes_and_any_other_sixteen() -> None:
    assert training.bytes_moved((3, 5, 2), 25) == 12 * 15 + 16 * 10


def test_a_line_says_how_near_the_bound_an_iteration_is() -> None:
    row = {
        "network": "S",
        "way": "evener",
        "iteration_s": 2e-3,
        "low_s": 1e-3,
        "high_s": 3e-3,
        "weights": 57_536,
        "memory_bytes": 2**21,
        "bound_s": 1e-3,
    }

    assert " ".join(training.line(row).split()) == (
        "S evener: 2.000 ms (1.000 to 3.000), 2 MiB for 57,536 weights; 2.00 of the bound 1.000 ms"
    )


def test_both_acts_take_turns_and_a_figure_is_the_mean_of_many_iterations() -> None:
    done: list[str] = []

    def iterate() -> None:
        done.append("iterate")
        time.sleep(0.01)

    iterations, scalings = training.take_turns(iterate, lambda: done.append("scale"), 0.0, 4)

    assert len(iterations) == 2
    assert len(scalings) == 8
    assert min(iterations) >= 0.01
    assert done.count("iterate") == 3 + 2 * 4  # three to see how long it takes


def test_what_is_timed_is_a_step_of_the_network_it_says() -> None:
    iterate, flat, weights = training.evener_s((3, 8, 4), boundary=False)
    before = flat.clone()

    iterate()

    assert weights == 3 * 8 + 8 * 4
    assert not bool((flat == before).all())
