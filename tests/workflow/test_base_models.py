"""A search begins with the networks that a project names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evener.artifacts.networks import Ends
from evener.artifacts.search_section import SearchSection
from evener.errors import InvalidProjectError
from evener.testing.projects import write_project
from evener.workflow.base_models import base_genomes
from evener.workflow.search import search_project
from evener.workflow.search_setup import limits_of, space_of

TABLE = Ends(features=64, outputs=10)
PICTURES = Ends(features=784, outputs=10, picture=(1, 28, 28))


def begun_with(ends: Ends, *names: str, **settings: Any) -> list[str]:  # noqa: ANN401 - of [search]
    section = SearchSection(base_models=names, **settings)
    space = space_of(section, ends)
    genomes = base_genomes(section, space, learning_rate=0.01)
    return [] if genomes is None else [str(one) for one in space.decode(genomes)]


def test_each_becomes_the_nearest_that_may_be_chosen() -> None:
    assert begun_with(TABLE, "60-30", "none tanh", activations=("relu", "tanh")) == [
        "layers 64-32 relu, 3 links",
        "layers none tanh, 1 link",
    ]
    assert begun_with(TABLE, "200", links="chain") == ["layers 256 relu, 2 links"]
    assert begun_with(PICTURES, "conv3x3(9)/2 conv3x3(30)/2, flattened") == [
        "blocks conv3x3(8)/2 conv3x3(32)/2, flattened, relu"
    ]


def test_one_that_breaks_a_hard_requirement_is_refused() -> None:
    section = SearchSection(base_models=("30", "256-256"))

    with pytest.raises(
        InvalidProjectError, match="'256-256': as .layers 256-256 relu, 3 links. it"
    ):
        base_genomes(
            section,
            space_of(section, TABLE),
            learning_rate=0.01,
            limits=limits_of(50_000.0, TABLE),
        )


def test_without_any_all_are_drawn() -> None:
    assert begun_with(TABLE) == []


def test_where_recipes_evolve_they_train_as_the_project_does() -> None:
    section = SearchSection(base_models=("32",), recipes=True)
    space = space_of(section, TABLE)

    genomes = base_genomes(section, space, learning_rate=0.0024)

    assert genomes is not None
    [network] = space.decode(genomes)
    assert network.recipe is not None
    assert (network.recipe.optimiser, network.recipe.learning_rate) == ("adam", 0.0022)


@pytest.mark.parametrize(
    ("ends", "name", "settings", "message"),
    [
        (TABLE, "8-8-8", {"depth": 2}, "has 3 hidden layers, the space 2: give a depth of 3"),
        (TABLE, "512-512", {"max_nodes": 300}, "more units than max_nodes = 300 in all hidden"),
        (TABLE, "conv3x3(8)", {}, "this search is of layers of units: name such, as '64-32'"),
        (PICTURES, "64-32", {}, "this search is of blocks of convolutions: name such"),
        (PICTURES, "pool3x3(1)", {}, "it has no convolution, which the space demands; add one"),
    ],
)
def test_what_the_search_cannot_find_is_refused(
    ends: Ends, name: str, settings: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(InvalidProjectError, match=message) as caught:
        begun_with(ends, name, **settings)

    assert caught.value.key == "search.base_models"
    assert f"search.base_models names '{name}': " in str(caught.value)


@pytest.mark.parametrize("algorithm", ["screened", "paper"])
def test_the_first_generation_trains_them(algorithm: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="searching trains, which needs the extra 'train'")
    project = write_project(tmp_path / "project")
    text = (project / "evener.toml").read_text()
    named = f'[search]\nbase_models = ["12-7-5 relu"]\nalgorithm = "{algorithm}"\n'
    (project / "evener.toml").write_text(text.replace("[search]\n", named))

    found = search_project(project).found

    begun = [str(one.architecture) for one in found.scored]
    nearest = begun_with(Ends(features=3, outputs=2), "12-7-5 relu", depth=3, widths=(4, 8, 16, 32))
    assert set(nearest) <= set(begun[: found.generations[0].evaluations])
