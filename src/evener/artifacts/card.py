"""What a trained network is, how it was made and how good it is."""

from typing import ClassVar

import msgspec

from evener.artifacts.architecture import Architecture
from evener.artifacts.dataset import MAIN_METRIC, SplitName, Task
from evener.artifacts.encoding import Encoding
from evener.artifacts.networks import Network
from evener.artifacts.pruned import Pruned
from evener.artifacts.recommended import NETWORK, Recommended
from evener.artifacts.topology import Topology


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A simple model that the network is held against.

    Attributes:
        name: such as "linear".
        validation: quality on the validation split.
        test: quality on the test split, by metric, learned from the training rows alone.
        size_bytes: bytes of its ONNX file.
    """

    name: str
    validation: float
    test: dict[str, float]
    size_bytes: int


class Baselines(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The simple models of one dataset, as one artifact.

    Attributes:
        models: one per kind of simple model.
    """

    kind: ClassVar[str] = "baselines"
    schema: ClassVar[int] = 1

    models: tuple[Baseline, ...]


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Card of what was delivered: everything that does not change from one day to the next.

    Attributes:
        network_sha256: hash of the ONNX file.
        network_bytes: its size.
        architecture: what was trained: a network, or the family of a simple model.
        weights: how many numbers training set; of trees thresholds and what leaves answer.
        features: columns that the network reads.
        data_sha256: hash of the dataset and its split.
        rows: rows of the splits, by name.
        classes: names of the outputs: of the classes, or the target columns of numbers and labels.
        seed: what the randomness was drawn from.
        epochs: passes over the rows; 0 of a simple model.
        learned_from: the parts of the split that the weights were learned from.
        validation: quality on the validation split, by metric. Of weights that were learned from it
            too, what the same model came to before, learning from the training split alone: of a
            network the mean of its trainings in the search; empty where there is none.
        test: quality on the test split, by metric.
        export_error: largest difference between the ONNX file's and the trainer's outputs.
        baselines: simple models of the same split, learned from the training rows alone.
        feature_names: names of the columns, in the order in which the network reads them;
            "column=value" is 1 where that column says so. None in cards of older versions.
        topology: which neurons see which; None where all see all.
        losses: mean loss of each epoch; empty in cards of older versions.
        task: what the network predicts.
        encoding: how the columns of a table become what it reads; None of other sources.
        recommended: the model that is best on the validation split, network or simple; None in
            cards of older versions.
        communication_share: of the time in messages between ranks, of the rank that waited most,
            since the training was last started; None where one process trained, or nothing was
            left to train.
        pruned: what was taken out of the network; None if nothing was.
    """

    kind: ClassVar[str] = "card"
    schema: ClassVar[int] = 1

    network_sha256: str
    network_bytes: int
    architecture: Network
    weights: int
    features: int
    data_sha256: str
    rows: dict[str, int]
    classes: tuple[str, ...]
    seed: int
    epochs: int
    validation: dict[str, float]
    test: dict[str, float]
    export_error: float
    baselines: tuple[Baseline, ...]
    feature_names: tuple[str, ...] = ()
    topology: Topology | None = None
    losses: tuple[float, ...] = ()
    communication_share: float | None = None
    task: Task = "classes"
    encoding: Encoding | None = None
    learned_from: tuple[SplitName, ...] = ("train",)
    recommended: Recommended | None = None
    pruned: Pruned | None = None

    @property
    def pruning(self) -> str | None:
        """Say for people what was taken out of the network, and what it cost; None if nothing."""
        if self.pruned is None:
            return None
        metric = MAIN_METRIC[self.task]
        return self.pruned.told(metric, self.validation.get(metric))

    @property
    def family(self) -> str:
        """What was delivered: "network", or the name of a simple model."""
        one = self.architecture
        if isinstance(one, Architecture) and one.family != "mlp":
            return one.family
        return NETWORK

    @property
    def advice(self) -> str | None:
        """Say for people that another model is recommended than was delivered; None if none is."""
        best = self.recommended
        if best is None or best.family == self.family:
            return None
        metric = MAIN_METRIC[self.task]
        return (
            f"the model '{best.family}' is recommended: its {metric} on the validation rows is "
            f"{best.validation:.4f}, the network's {best.network:.4f}; the network was delivered"
        )


def to_deliver(*, board: bool) -> str:
    """Say for people how the simple model is delivered that is recommended.

    Args:
        board: whether the project is built for a board, which has times of networks alone.
    """
    what = "write"
    if board:
        what = "take plan.board, which has times of networks alone, out of evener.toml, write"
    where = "[train]" if board else "[train] of evener.toml"
    return f'to deliver the model, {what} deliver = "recommended" in {where}, and build again'
