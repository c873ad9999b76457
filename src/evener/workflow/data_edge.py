"""Measure where λ is critical on a project's training rows, and in networks as its search draws."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.data_edge import Connectivity, DataEdge
from evener.artifacts.edge_of_chaos import Table
from evener.artifacts.layer_graph import Activation
from evener.artifacts.search_section import SearchSection
from evener.artifacts.swept import Interval
from evener.data.dataset import Dataset
from evener.errors import InfeasibleError, InputError
from evener.search.chaos.coevolving_states import Array, CoEvolution
from evener.search.chaos.domains import Domain, compensate
from evener.search.chaos.langton import PAPER_CRITICAL
from evener.search.chaos.mean_field import critical_density, regime
from evener.search.chaos.propagation import Probe, measure_chi, walk
from evener.search.chaos.table import CLASSES, PAPER, Grid, Probed, probe_table
from evener.train.model import standardisation
from evener.train.sweet_spot import interval
from evener.workflow.opened import Progress

SEEDS: Final = 5
STEPS: Final = 50
_ROWS: Final = 2048  # more than the steps of one seed see
_FEATURES: Final = 256  # so that all states fit in memory, and take seconds
_WIDTH: Final = 400
_DEPTH: Final = 18
_BURN_IN: Final = 3
_REACH: Final = 0.2  # densities that are walked along, on either side of the critical one
_DENSITIES: Final = 7
_ROWS_DRAWN, _MIXED, _STATES, _LINKS = range(4)  # so that no two draw the same


def measure_data_edge(
    dataset: Dataset,
    section: SearchSection,
    *,
    grid: Grid = PAPER,
    tell: Progress | None = None,
) -> DataEdge:
    """Probe the table of hyperparameters on the training rows, and random networks beside it.

    Args:
        dataset: whose training rows are learned; no others are looked at.
        section: activations, density, start and seed of the search.
        grid: the table.
        tell: told how far it is.

    Returns:
        The same numbers each time.

    Raises:
        InputError: no feature or no target differs between the training rows.
    """
    inputs, wanted = _examples(dataset, section.seed)
    tables = []
    for number in range(SEEDS):
        if tell is not None:
            tell("probing hyperparameters on the training rows", number, SEEDS)
        seed = [section.seed, _STATES, number]
        probed = probe_table(grid, CoEvolution(inputs, wanted, dataset.task, STEPS, seed))
        tables.append(table_of(probed, dataset.name, STEPS))
    if tell is not None:
        tell("probing random networks", SEEDS, SEEDS)
    return DataEdge(
        paper=dict(PAPER_CRITICAL),
        rows=len(inputs),
        features=inputs.shape[1],
        tables=tuple(tables),
        critical=interval([one.critical for one in tables]),
        connectivity=tuple(_connectivity(one, section) for one in section.activations),
    )


def _examples(dataset: Dataset, seed: int) -> tuple[Array, Array]:
    """Draw training rows, and bring them to the scale that the probe's networks are made for."""
    chosen = np.sort(dataset.split.train)
    if len(chosen) > _ROWS:
        rng = np.random.default_rng([seed, _ROWS_DRAWN])
        chosen = np.sort(rng.choice(chosen, _ROWS, replace=False))
    rows, wanted = dataset.features[chosen], dataset.targets[chosen]
    mean, scale = standardisation(rows, dataset.words)
    inputs = (rows - mean) * scale
    if inputs.shape[1] > _FEATURES:
        # Distances between rows stay nearly as they are (Johnson and Lindenstrauss).
        rng = np.random.default_rng([seed, _MIXED])
        inputs = inputs @ rng.standard_normal((inputs.shape[1], _FEATURES), dtype=np.float32)
    inputs = _scaled(inputs, "feature")
    if dataset.task == "numbers":
        deviation = wanted.std(axis=0)
        even = np.where(deviation > 0, deviation, 1)
        wanted = _scaled((wanted - wanted.mean(axis=0)) / even, "target")
    return inputs.astype(np.float32), wanted.astype(np.float32)


def _scaled(values: NDArray[np.float32], what: str) -> NDArray[np.float32]:
    """Give values a mean square of 1."""
    size = np.sqrt(np.mean(values.astype(np.float64) ** 2))
    if not size > 0:
        raise InputError(
            f"search.probe: no {what} differs between the {len(values)} training rows, so that "
            "nothing can be learned from them: give more rows, or leave out search.probe"
        )
    scaled: NDArray[np.float32] = values / np.float32(size)
    return scaled


def table_of(probed: Probed, name: str, steps: int) -> Table:
    """Return what a probed table of hyperparameters came to.

    Args:
        probed: the table.
        name: of the data that networks learned.
        steps: of each state.
    """
    count = np.bincount(probed.classes, minlength=len(CLASSES)).tolist()
    return Table(
        data=name,
        hyperparameters=tuple(axis.name for axis in probed.grid.axes),
        steps=steps,
        quiescent=count[CLASSES.index("quiescent")],
        active=count[CLASSES.index("active")],
        divergent=count[CLASSES.index("divergent")],
        boxes=tuple((box.states.value, box.learned) for box in probed.boxes),
        critical=probed.critical,
        best=probed.best,
    )


def _connectivity(activation: Activation, section: SearchSection) -> Connectivity:
    """Measure random networks whose weights are drawn as a search draws them."""
    # Where each network draws its own variance, the critical one is measured.
    domain: Domain = "critical" if section.start == "random" else section.start
    start = compensate(domain, activation, section.density)
    theory = critical_density(activation, start.weight_variance)
    rngs = [np.random.default_rng([section.seed, _LINKS, number]) for number in range(SEEDS)]
    at = _probe(activation, start.weight_variance, start.bias_variance, section.density)
    chi = interval([measure_chi(at, section.density, rng)[0] for rng in rngs])
    critical: Interval | None = None
    if theory <= 1:
        edge = _probe(activation, start.weight_variance, start.bias_variance, theory)
        ends = max(theory - _REACH, theory / 2), min(theory + _REACH, 1.0)
        densities = np.linspace(*ends, _DENSITIES).tolist()
        try:
            critical = interval([walk(edge, densities, 1, rng).critical for rng in rngs])
        except InfeasibleError:
            critical = None  # at the end of the densities that there are
    return Connectivity(
        activation=activation,
        domain=domain,
        density=section.density,
        weight_variance=start.weight_variance,
        chi_theory=start.chi,
        chi=chi,
        critical_theory=theory,
        critical=critical,
    )


def _probe(activation: Activation, variance: float, bias: float, density: float) -> Probe:
    """Begin with what sums settle to at some density, where they settle to anything."""
    settled = regime(activation, variance * density, bias).variance
    begun = settled if 0 < settled < np.inf else 1.0
    return Probe(
        activation, variance, bias, width=_WIDTH, depth=_DEPTH, burn_in=_BURN_IN, variance=begun
    )
