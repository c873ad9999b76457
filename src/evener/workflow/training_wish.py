"""What a user wants trained over ranks, and how; settings that do not go together are refused."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from evener.artifacts.topology import Topology
from evener.errors import InputError

Layout = Literal["shards", "paper"]
Optimiser = Literal["sgd", "momentum", "adamw"]
Precision = Literal["float32", "bfloat16"]
OnFailure = Literal["abort", "shrink"]
Hidden = Literal["sigmoid", "tanh", "relu", "gelu"]


class TrainingWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a user wants trained, and how.

    Attributes:
        project: folder of a project, whose data and chosen architecture are taken; or
        widths: neurons of each layer, the input first.
        data: "digits", or a CSV or NPZ file with a column or array "label"; rows drawn at random,
            which teach nothing, if None.
        layout: "shards" by the topology, or "paper", as Surajiwale et al. (2017) do it.
        shards: how many, or the paper's workers; one for each rank of a replica, or worker, if
            None.
        replicas: copies of the network, which share the ranks and the rows of a batch.
        topology: which neurons see which; its number of shards counts for nothing. If None, all see
            all, but for a project whose search divided its network: that is trained as it is, where
            no `shards` are given either.
        batch: rows of an iteration; 32 of rows to learn from and 1 of random ones if None.
        iterations: how many; or
        epochs: passes over the rows.
        optimiser: what makes a step of a gradient.
        learning_rate: of it; its usual one if None.
        precision: of products; see `evener.train.mixed`.
        activation: of hidden layers.
        seed: what weights, the order of rows and random rows are drawn from.
        checkpoint: folder to save into.
        resume: whether to go on from what lies there, if anything does.
        log: file of lines or folder for TensorBoard where each step is logged.
        on_failure: whether all ranks end where one does, or the others go on from the checkpoint.
        out: file for the network as ONNX.
    """

    project: Path | None = None
    widths: tuple[int, ...] | None = None
    data: str | None = None
    layout: Layout = "shards"
    shards: int | None = None
    replicas: int = 1
    topology: Topology | None = None
    batch: int | None = None
    iterations: int | None = None
    epochs: int | None = None
    optimiser: Optimiser = "sgd"
    learning_rate: float | None = None
    precision: Precision = "float32"
    activation: Hidden = "relu"
    seed: int = 0
    checkpoint: Path | None = None
    resume: bool = False
    log: Path | None = None
    on_failure: OnFailure = "abort"
    out: Path | None = None

    @property
    def who_sees(self) -> Topology:
        """Which neurons see which, all of them if nothing is said."""
        return self.topology or Topology()

    def check(self) -> None:
        """Refuse what does not go together.

        Raises:
            InputError: says what, and what to leave out or to add.
        """
        if (self.project is None) == (self.widths is None):
            raise InputError(
                "give either the folder of a project, or --shape with the neurons of each layer"
            )
        if self.project is not None and self.data is not None:
            raise InputError("a project names its data itself: leave out --data, or give --shape")
        if self.iterations is not None and self.epochs is not None:
            raise InputError("--iterations and --epochs both say for how long: leave out one")
        if self.log is not None and self.out is not None and _same_file(self.log, self.out):
            raise InputError(f"--log and -o both write {self.out}: give each a file of its own")
        if self.resume and self.checkpoint is None:
            raise InputError("--resume goes on from a checkpoint: name its folder by --checkpoint")
        if self.on_failure == "shrink":
            self._check_shrink()
        if self.layout == "paper":
            self._check_paper()

    def _check_shrink(self) -> None:
        if self.checkpoint is None:
            raise InputError(
                "--on-failure shrink goes on from a checkpoint: name a folder by --checkpoint"
            )
        if self.replicas > 1:
            raise InputError(
                f"--on-failure shrink with {self.replicas} replicas, which the ranks that are left "
                "could not share evenly: leave out one"
            )

    def _check_paper(self) -> None:
        wrong = {
            "--halo": self.who_sees.halo != "full",
            "--shuffle": self.who_sees.shuffle,
            "--coarse": self.who_sees.coarse > 0,
            "--input": self.who_sees.input != "replicated",
            "--replicas": self.replicas > 1,
            "--optimiser": self.optimiser != "sgd",
            "--precision": self.precision != "float32",
            "--activation": self.activation not in ("relu", "sigmoid"),
            "--checkpoint": self.checkpoint is not None,
            "--on-failure": self.on_failure != "abort",
            "--log": self.log is not None,
            "-o": self.out is not None,
            "PROJECT": self.project is not None,
        }
        given = [name for name, is_given in wrong.items() if is_given]
        if given:
            raise InputError(
                "the paper's layout has sigmoid layers, a halo of 1, plain steps and nothing to "
                f"write: leave out {', '.join(given)}, or --layout paper"
            )


def _same_file(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
