"""What networks of a search have learned is kept in files."""

from pathlib import Path

import numpy as np
import pytest

from evener.artifacts.conv_stack import ConvStack
from evener.artifacts.front import Scored
from evener.artifacts.layer_graph import LayerGraph
from evener.artifacts.score import Score
from evener.artifacts.search_state import SearchState
from evener.errors import InvalidFileError
from evener.workflow.learned import Learned

pytest.importorskip("torch", reason="what is learned is learned with the extra 'train'")

from evener.train.population.individual import Individual
from evener.train.population.weights import draw_weights

GRAPH = LayerGraph(widths=(4, 8), links=((0, 1), (0, 2), (1, 2), (2, 3)))
WEIGHTS = draw_weights(Individual(widths=(3, 4, 8, 2), links=GRAPH.links))


def test_what_was_learned_is_read_as_it_was_written(tmp_path: Path) -> None:
    Learned(tmp_path / "learned").keep({GRAPH: WEIGHTS})

    [(network, weights)] = Learned(tmp_path / "learned").of([GRAPH.id, "unknown"])

    assert network == GRAPH
    assert set(weights.links) == set(WEIGHTS.links)
    for link, array in WEIGHTS.links.items():
        np.testing.assert_array_equal(weights.links[link], array)
    for bias, array in zip(weights.biases, WEIGHTS.biases, strict=True):
        np.testing.assert_array_equal(bias, array)


def test_of_blocks_and_of_those_that_learned_nothing_there_is_no_file(tmp_path: Path) -> None:
    learned = Learned(tmp_path / "learned")

    learned.keep({GRAPH: None, ConvStack(blocks=()): WEIGHTS})

    assert not (tmp_path / "learned").exists()
    assert learned.of([GRAPH.id]) == ()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"nothing of the kind", None])
def test_a_damaged_file_is_named_and_a_search_does_not_go_on_from_it(
    content: bytes | None, tmp_path: Path
) -> None:
    learned = Learned(tmp_path / "learned")
    learned.keep({GRAPH: WEIGHTS})
    [path] = (tmp_path / "learned").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    good = Scored(architecture=GRAPH, score=Score(id=GRAPH.id, quality=0.9))
    state = SearchState(search={}, rival={}, scored=(good,), random=(), generations=())

    assert not learned.holds(state)
    with pytest.raises(InvalidFileError, match="does not hold what a network learned"):
        learned.of([GRAPH.id])


def test_arrays_of_something_else_are_no_weights(tmp_path: Path) -> None:
    learned = Learned(tmp_path)
    np.savez(tmp_path / f"{GRAPH.id}.npz", x=np.zeros(3))

    with pytest.raises(InvalidFileError, match="remove its folder, and the search begins anew"):
        learned.of([GRAPH.id])


def test_what_learned_nothing_leaves_no_file_of_before(tmp_path: Path) -> None:
    learned = Learned(tmp_path)
    learned.keep({GRAPH: WEIGHTS})

    learned.keep({GRAPH: None})

    assert learned.of([GRAPH.id]) == ()


def test_a_search_whose_files_are_gone_is_told_from_one_that_can_go_on(tmp_path: Path) -> None:
    learned = Learned(tmp_path / "learned")
    learned.keep({GRAPH: WEIGHTS})
    good = Scored(architecture=GRAPH, score=Score(id=GRAPH.id, quality=0.9))
    other = LayerGraph()
    failed = Scored(architecture=other, score=Score(id=other.id, status="failed"))
    gone = Scored(architecture=other, score=Score(id=other.id, quality=0.5))

    def state(*scored: Scored) -> SearchState:
        return SearchState(search={}, rival={}, scored=scored, random=(), generations=())

    assert learned.holds(state(good, failed))
    assert not learned.holds(state(good, gone))


def test_what_nobody_goes_on_from_is_removed_and_a_folder_that_is_empty(tmp_path: Path) -> None:
    learned = Learned(tmp_path / "learned")
    other = LayerGraph(widths=(4,), links=((0, 1), (1, 2)))
    fewer = draw_weights(Individual(widths=(3, 4, 2), links=other.links))
    learned.keep({GRAPH: WEIGHTS, other: fewer})

    learned.clear(but=[GRAPH.id])

    assert [network for network, _ in learned.of([GRAPH.id, other.id])] == [GRAPH]
    learned.clear()
    assert not (tmp_path / "learned").exists()
    learned.clear()  # what is not there
