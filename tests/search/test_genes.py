"""Genes as Gray-coded bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.search.genes import Gene, count_bits, read_levels, write_levels


def every_code(bits: int) -> np.ndarray:
    return (np.arange(1 << bits)[:, None] >> np.arange(bits)[::-1] & 1).astype(bool)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(0, 99))
def test_reading_what_was_written_gives_the_same_levels(sizes: list[int], seed: int) -> None:
    genes = [Gene("any", tuple(range(size))) for size in sizes]
    levels = np.random.default_rng(seed).integers(0, sizes, (7, len(sizes)))

    bits = write_levels(levels, genes)

    assert bits.shape == (7, count_bits(genes))
    assert (read_levels(bits, genes) == levels).all()


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 11, 16])
def test_codes_of_neighbouring_levels_differ_in_one_bit(size: int) -> None:
    gene = Gene("any", tuple(range(size)))
    codes = every_code(gene.bits)
    levels = read_levels(codes, [gene])[:, 0]
    apart = (codes[:, None] != codes[None]).sum(axis=2)

    for level in range(size - 1):
        pairs = apart[np.ix_(levels == level, levels == level + 1)]
        assert pairs.min() == 1


def test_every_level_has_a_code_and_none_has_more_than_one_beyond_another() -> None:
    gene = Gene("five", tuple("abcde"))

    levels = read_levels(every_code(3), [gene])[:, 0]

    assert np.bincount(levels).tolist() == [2, 2, 1, 2, 1]


def test_a_single_value_needs_no_bit() -> None:
    gene = Gene("one", ("relu",))

    assert gene.bits == 0
    assert read_levels(np.empty((3, 0), bool), [gene]).tolist() == [[0], [0], [0]]
    assert write_levels(np.zeros((3, 1), np.int64), [gene]).shape == (3, 0)
