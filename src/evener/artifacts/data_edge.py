"""Where the data and the networks of a project are between order and chaos, as measured."""

from typing import ClassVar

import msgspec

from evener.artifacts.edge_of_chaos import Table
from evener.artifacts.swept import Interval


class Connectivity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where random networks that start as those of a search do are between order and chaos.

    Attributes:
        activation: of their layers.
        domain: that they start in.
        density: probability of a link.
        weight_variance: σ_w², of a weight times the inputs that its neuron might have.
        chi_theory: χ₁ of wide networks by mean-field theory.
        chi: the same in real random networks.
        critical_theory: the density at which χ₁ is 1 with this variance; above 1 there is none.
        critical: the same in real random networks; None where χ₁ does not pass 1 on the way.
    """

    activation: str
    domain: str
    density: float
    weight_variance: float
    chi_theory: float
    chi: Interval
    critical_theory: float
    critical: Interval | None


class DataEdge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where λ is critical, by both readings of it.

    Attributes:
        paper: the λ_c that the paper prints, by kind of data.
        rows: training rows that the table was probed on.
        features: of each, as networks saw them; fewer than the data has where those are many.
        tables: the table of hyperparameters, probed once for each seed.
        critical: λ_c of the hyperparameters on this data, over the seeds.
        connectivity: λ_c of the links, by activation.
    """

    kind: ClassVar[str] = "data_edge"
    schema: ClassVar[int] = 1

    paper: dict[str, float]
    rows: int
    features: int
    tables: tuple[Table, ...]
    critical: Interval
    connectivity: tuple[Connectivity, ...]
