"""The least time of an iteration: bytes of weights over bandwidth of memory."""

from itertools import count

from evener.train.bound import moved_bytes, scaling_bandwidth


def test_weights_are_read_read_again_and_updated_but_those_of_the_first_layer_are_read_once() -> (
    None
):
    # L of the paper: 15.3 bytes a weight.
    dense = [2048 * 32768, 32768 * 8192, 8192 * 4096, 4096 * 2048]

    assert moved_bytes(dense) == 4 * (3 * dense[0] + 4 * sum(dense[1:]))
    assert round(moved_bytes(dense) / sum(dense), 1) == 15.3
    assert moved_bytes([10], itemsize=8) == 240


def test_bandwidth_counts_what_is_read_and_what_is_written() -> None:
    clock = count(0.0, 0.5)  # each scaling takes half a second

    assert scaling_bandwidth(1 << 20, clock.__next__) == 2 * (1 << 20) / 0.5


def test_an_array_too_small_to_time_is_taken_larger() -> None:
    clock = count(0.0, 1.0)

    assert scaling_bandwidth(40, clock.__next__) == 2 * (1 << 16)
