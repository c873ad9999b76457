"""Make a network layer by layer and train it, on however many ranks: the way in for a program.

The names are those of the paper whose network this is (Surajiwale et al., "A massively parallel
artificial deep neural network framework for IBM Blue Gene/Q"), as Python writes them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from evener.artifacts.files import write_whole
from evener.artifacts.topology import Topology
from evener.comm.alone import Alone
from evener.comm.communicator import Communicator
from evener.comm.share import together
from evener.comm.timed import Timed
from evener.errors import InputError
from evener.train.activations import Activation
from evener.train.answers import TOGETHER, whole_answers
from evener.train.draw import row_order
from evener.train.grid import Grid
from evener.train.losses import LossName
from evener.train.ranked import RankedNetwork
from evener.train.recipe import Recipe
from evener.train.shape import DENSE, Shape
from evener.train.text_rows import as_rows
from evener.train.trainer import OnProgress, Trainer, check_rows, check_table
from evener.train.views import Layer, LayerKind

_KINDS: Final[tuple[LayerKind, ...]] = ("input", "hidden", "output")


class Network:
    """A network of sharded layers.

    The same program runs on every rank, and ends in the same weights whatever their number: to the
    bit where shards see a halo, to rounding where they see everything.

    Args:
        topology: which neurons see which; everything by default.
        seed: what weights, the order of rows and dropout are drawn from.
        communicator: the ranks.
        replicas: how many copies of the network the ranks compute; each takes a part of a batch.
        loss: what is to be little; cross-entropy if a softmax stands at the end, half of the
            squared error otherwise.
        dtype: of weights and values.

    Example:
        >>> net = Network(seed=1).add_layer("input", 2).add_layer("hidden", 8)
        >>> _ = net.add_layer("output", 1).load([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
        >>> net.forward()
        >>> before = net.compute_loss()
        >>> net.backward(rate=0.5)
        >>> net.forward()
        >>> net.compute_loss() < before
        True
    """

    def __init__(
        self,
        *,
        topology: Topology = DENSE,
        seed: int = 0,
        communicator: Communicator | None = None,
        replicas: int = 1,
        loss: LossName | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self._topology = topology
        self._seed = seed
        self._grid = Grid.of(Timed(communicator or Alone()), replicas)
        self._loss = loss
        self._dtype = dtype
        self._widths: list[int] = []
        self._activations: list[Activation] = []
        self._ended = False
        self._ranked: RankedNetwork | None = None
        self._rows: tuple[Tensor, Tensor] | None = None
        self._batch = 0
        self._iteration = 0
        self._now: tuple[Tensor, Tensor] | None = None  # the rows that went forward last
        self._compared = False

    def add_layer(
        self, kind: LayerKind, neurons: int, *, activation: Activation | None = None
    ) -> "Network":
        """Add a layer behind those that are there, and return the network.

        Args:
            kind: "input" for the first, "output" for the last, "hidden" between.
            neurons: how many.
            activation: the sigmoid by default; the input has none.

        Raises:
            InputError: the layer cannot stand there.
        """
        if kind not in _KINDS:
            raise InputError(f"'{kind}' is no kind of layer; choose of {', '.join(_KINDS)}")
        if self._ended:
            raise InputError(f"a layer of kind {kind} behind the output: the output is the last")
        if (kind == "input") != (not self._widths):
            raise InputError(
                f"layer {len(self._widths)} of kind {kind}: a network begins with one input, and "
                "has no other"
            )
        if kind == "input" and activation is not None:
            raise InputError(f"an input with activation {activation}: what goes in is as it is")
        if neurons < 1:
            raise InputError(f"a layer of {neurons} neurons: give 1 or more")
        self._widths.append(neurons)
        if kind != "input":
            self._activations.append(activation or "sigmoid")
        self._ended = kind == "output"
        return self

    def load(
        self,
        inputs: ArrayLike | Path | str,
        outputs: ArrayLike | Path | str,
        *,
        batch: int | None = None,
    ) -> "Network":
        """Take rows to train on, and return the network.

        Args:
            inputs: a table with a row for each example, or a text file with one a line, numbers
                apart by blanks or commas.
            outputs: what the network should answer to each, likewise.
            batch: rows of an iteration of `forward`, `compute_loss` and `backward`; all if None.

        Raises:
            InputError: rows that do not fit the network, or are no finite numbers.
            InvalidFileError: a file cannot be read.
        """
        wanted = torch.from_numpy(as_rows(outputs)).to(self._dtype)
        given = torch.from_numpy(as_rows(inputs)).to(self._dtype)
        check_rows(self.ranked.shape.widths, given, wanted)
        if batch is not None and batch < 1:
            raise InputError(f"an iteration of {batch} rows: give 1 or more")
        self._rows = given, wanted
        self._batch = min(batch or len(given), len(given))
        self._iteration = 0
        self._now = None
        return self

    @property
    def ranked(self) -> RankedNetwork:
        """What this rank has of the network; its weights are drawn when first asked for.

        Raises:
            InputError: the network has no output yet, or cannot be computed by these ranks.
        """
        if self._ranked is None:
            if not self._ended:
                raise InputError(
                    f"a network of {len(self._widths)} layers without an output: add one with "
                    "add_layer('output', neurons)"
                )
            last = self._activations[-1]
            self._ranked = RankedNetwork(
                Shape(tuple(self._widths), tuple(self._activations), self._topology, self._seed),
                self._grid.shards,
                loss=self._loss or ("cross-entropy" if last == "softmax" else "squared"),
                dtype=self._dtype,
                keep_errors=True,
            )
        return self._ranked

    @property
    def layers(self) -> Sequence[Layer]:
        """The layers, the input first."""
        return [Layer(self.ranked, index) for index in range(len(self._widths))]

    def forward(self) -> None:
        """Compute the answers to the rows of the next iteration, in an order drawn every pass.

        Raises:
            InputError: no rows were loaded, or there are replicas.
        """
        if self._grid.replicas.size > 1:
            raise InputError(
                f"single steps with {self._grid.replicas.size} replicas: use fit, which adds up "
                "their gradients"
            )
        inputs, wanted = self._loaded()
        epoch, place = divmod(self._iteration, -(-len(inputs) // self._batch))
        order = row_order(self._seed, epoch, len(inputs))
        rows = torch.from_numpy(order[place * self._batch : (place + 1) * self._batch])
        self._now = inputs[rows], wanted[rows]
        self.ranked.forward(self._now[0])
        self._compared = False
        self._iteration += 1

    def compute_loss(self) -> float:
        """Return the loss of the rows that went forward last, the same on every rank.

        Raises:
            InputError: none did.
        """
        self._compare()
        return self.ranked.loss()

    def backward(self, *, rate: float = 0.1) -> None:
        """Go back through the rows that went forward last, and take a step of gradient descent.

        Args:
            rate: the learning rate.

        Raises:
            InputError: none did since the last step.
        """
        self._compare()
        self.ranked.step_down(rate)
        self._now = None

    def fit(
        self,
        recipe: Recipe,
        *,
        on_progress: OnProgress | None = None,
        checkpoints: Path | None = None,
        every: int | None = None,
    ) -> float:
        """Train on the loaded rows, and return the mean loss of the last epoch.

        Args:
            recipe: how.
            on_progress: called after each step.
            checkpoints: folder to go on from, if it has any, and to save into; the ranks share it.
            every: steps between checkpoints; an epoch if None.

        Raises:
            InputError: no rows were loaded.
            DivergedError: the loss is no number any more.
            InvalidFileError: a checkpoint cannot be written, is damaged, or is of another training.
        """
        trainer = Trainer(self.ranked, recipe, *self._loaded(), grid=self._grid)
        return trainer.run(on_progress, checkpoints=checkpoints, every=every)

    def predict(self, inputs: ArrayLike | Path | str) -> NDArray[np.floating]:
        """Return the answers to rows, (rows, outputs), on every rank; every rank calls it.

        Args:
            inputs: as `load` takes them.

        Raises:
            InputError: rows that do not fit the network.
        """
        given = torch.from_numpy(as_rows(inputs)).to(self._dtype)
        check_table("inputs", given, self.ranked.shape.widths[0])
        self._now = None
        parts = torch.split(given, TOGETHER)
        return np.concatenate([whole_answers(self.ranked, part).T.numpy() for part in parts])

    def export(self, path: Path | str) -> None:
        """Write the network as an ONNX file, on the first rank; every rank calls it.

        Args:
            path: of the file.

        Raises:
            InvalidFileError: it cannot be written.
            InputError: the weights are more than such a file holds.
            RankError: either was so on the first rank, and this is another.
        """
        from evener.train.sharded_onnx import export_sharded, gather_parts

        parts = gather_parts(self.ranked)

        def write() -> None:
            if parts is not None and self._grid.replicas.rank == 0:
                write_whole(Path(path), export_sharded(self.ranked.shape, parts))

        together(self._grid.world, write)

    def close(self) -> None:
        """Give back what the ranks prepared for one another."""
        if self._ranked is not None:
            self._ranked.close()
        self._grid.close()

    def _loaded(self) -> tuple[Tensor, Tensor]:
        if self._rows is None:
            raise InputError("no rows to train on: give some with load(inputs, outputs)")
        return self._rows

    def _compare(self) -> None:
        if self._now is None:
            raise InputError("nothing went forward since the last step: call forward first")
        if not self._compared:
            self.ranked.compare(self._now[1])
            self._compared = True
