"""Convolutional networks: stages of blocks, each block a choice of genes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.conv_stack import Block, BlockKind, ConvStack, HeadKind
from evener.artifacts.layer_graph import Activation
from evener.errors import InputError
from evener.search.genes import Gene, Genomes, Levels, count_bits, read_levels, write_levels
from evener.search.nearest_levels import activation_level, nearest, recipe_levels
from evener.search.recipe_genes import RECIPE_GENES, recipe_of, silence_recipe

KINDS: Final[tuple[BlockKind | None, ...]] = (
    None,
    "pool3x3",
    "conv1x1",
    "depthwise3x3",
    "conv3x3",
)
_POOL: Final = KINDS.index("pool3x3")


@dataclass(frozen=True, slots=True)
class ConvSpace:
    """Stages of blocks; the first block of a stage may halve the picture.

    Attributes:
        stages: how many.
        blocks: most blocks of a stage.
        channels: that the convolutions of a stage may give, in ascending order.
        heads: what the dense layers may see of the last block.
        hidden: units that the dense layer before the output may have; 0 for no such layer.
        activations: what may follow a convolution, one for a whole network.
        recipes: whether the training's settings are genes too.
        picture_channels: channels of the data's pictures.
    """

    stages: int = 3
    blocks: int = 5
    channels: tuple[int, ...] = (8, 16, 32, 64)
    heads: tuple[HeadKind, ...] = ("mean", "flatten")
    hidden: tuple[int, ...] = (0, 64)
    activations: tuple[Activation, ...] = ("relu",)
    recipes: bool = False
    picture_channels: int = 1

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: sizes below 1, or nothing to choose from.
        """
        if min(self.stages, self.blocks, self.picture_channels, *self.channels) < 1:
            raise InputError(
                f"{self.stages} stages of {self.blocks} blocks with {self.channels} channels over "
                f"pictures of {self.picture_channels}: each is 1 or more"
            )
        if not (self.channels and self.heads and self.hidden and self.activations):
            raise InputError(
                "channels, heads, hidden layers and activations each need one choice or more"
            )

    @property
    def genes(self) -> tuple[Gene, ...]:
        """Channels, stride and each block's kind and residual, stage by stage; then the rest."""
        block = (Gene("kind", KINDS), Gene("residual", (False, True)))
        stage = (Gene("channels", self.channels), Gene("stride", (1, 2)), *(block * self.blocks))
        rest = (
            Gene("head", self.heads),
            Gene("hidden", self.hidden),
            Gene("activation", self.activations),
        )
        return (*(stage * self.stages), *rest, *(RECIPE_GENES if self.recipes else ()))

    @property
    def length(self) -> int:
        """How many bits a genome has.

        Example:
            >>> ConvSpace().length
            71
        """
        return count_bits(self.genes)

    def draw(self, count: int, rng: np.random.Generator) -> Genomes:
        """Draw genomes evenly, (count, length)."""
        return rng.random((count, self.length)) < 0.5

    def loci(self, genomes: Genomes) -> Levels:
        """Return the level of each gene, a stage's blocks moved together; -1 where it is silent.

        A block that is not there silences its residual, and so does one whose output has another
        shape than its input; a stage without a convolution silences its channels, an empty one its
        stride.
        """
        levels = read_levels(genomes, self.genes)
        rows = np.arange(len(levels))
        before = np.full(len(levels), -1)  # level of the channels so far; the picture has its own
        each = 2 + 2 * self.blocks
        for start in range(0, self.stages * each, each):
            stage = levels[:, start : start + each]
            kinds, residual = stage[:, 2::2], stage[:, 3::2]
            order = np.argsort(kinds == 0, axis=1, kind="stable")
            kinds[:], residual[:] = kinds[rows[:, None], order], residual[rows[:, None], order]
            halves = stage[:, 1] == 1
            for block in range(self.blocks):
                convolves = kinds[:, block] > _POOL
                after = np.where(convolves, stage[:, 0], before)
                there = (kinds[:, block] > 0) & (before >= 0)
                same = there & (after == before) & ~(halves & (block == 0))
                residual[~same, block] = -1
                before = after
            stage[(kinds == 0).all(axis=1), 1] = -1
            stage[(kinds <= _POOL).all(axis=1), 0] = -1
        if self.recipes:
            levels[:, -len(RECIPE_GENES) :] = silence_recipe(levels[:, -len(RECIPE_GENES) :])
        return levels

    def decode(self, genomes: Genomes) -> tuple[ConvStack, ...]:
        """Return the network of each genome, without blocks that are not there."""
        return tuple(self._stack(row) for row in self.loci(genomes).tolist())

    def encode(self, stack: ConvStack) -> Genomes:
        """Return a genome of a network that somebody has already, (1, length).

        Its blocks fill one stage after another. Channels and hidden units become the nearest that
        the space has, by their ratio.

        Raises:
            InputError: more blocks than fit into the stages, or a head, an activation or a recipe
                that the space has not.
        """
        stages = self._stages(stack)
        if len(stages) > self.stages:
            raise InputError(
                f"{stack} takes {len(stages)} stages of {self.blocks} blocks or fewer, as each has "
                f"one number of channels and halves the picture at its beginning; the space has "
                f"{self.stages}: give more stages, or more blocks for each"
            )
        if stack.head not in self.heads:
            raise InputError(
                f"{stack}: the space has the heads {', '.join(self.heads)}; give another network"
            )
        levels: list[int] = []
        for number in range(self.stages):
            levels += self._stage_levels(stages[number] if number < len(stages) else [])
        levels += [self.heads.index(stack.head), self._hidden_level(stack.hidden)]
        levels.append(activation_level(stack, self.activations))
        if self.recipes:
            levels += recipe_levels(stack)
        return write_levels(np.array([levels]), self.genes)

    def violation(self, genomes: Genomes) -> NDArray[np.float64]:
        """Return 1 for each genome without a convolution, else 0."""
        levels = self.loci(genomes)
        each = 2 + 2 * self.blocks
        channels = levels[:, : self.stages * each : each]
        return np.where((channels < 0).all(axis=1), 1.0, 0.0)

    def _stages(self, stack: ConvStack) -> list[list[Block]]:
        """Return the blocks of each stage, as few stages as can be."""
        stages: list[list[Block]] = []
        channels = None  # of the convolutions of the last stage
        for block in stack.blocks:
            own = None if block.kind == "pool3x3" else block.channels
            full = not stages or len(stages[-1]) == self.blocks
            if full or block.stride == 2 or (own and channels and own != channels):
                stages.append([])
                channels = None
            stages[-1].append(block)
            channels = channels or own
        return stages

    def _stage_levels(self, blocks: Sequence[Block]) -> list[int]:
        channels = [block.channels for block in blocks if block.kind != "pool3x3"]
        levels = [nearest(channels[0], self.channels) if channels else 0]
        levels.append(int(bool(blocks) and blocks[0].stride == 2))
        for block in blocks:
            levels += [KINDS.index(block.kind), int(block.residual)]
        return levels + [0, 0] * (self.blocks - len(blocks))

    def _hidden_level(self, hidden: int) -> int:
        """Return the level of the nearest hidden layer; of none, if there is the choice."""
        wide = [place for place, units in enumerate(self.hidden) if units]
        if 0 in self.hidden and (hidden == 0 or not wide):
            return self.hidden.index(0)
        return wide[nearest(hidden or 1, [self.hidden[place] for place in wide])]

    def _stack(self, row: list[int]) -> ConvStack:
        each = 2 + 2 * self.blocks
        blocks: list[Block] = []
        channels = self.picture_channels
        for start in range(0, self.stages * each, each):
            width, halves, *genes = row[start : start + each]
            first = True
            for level, residual in zip(genes[::2], genes[1::2], strict=True):
                kind = KINDS[level]
                if kind is None:
                    break  # what there is stands in front
                channels = channels if kind == "pool3x3" else self.channels[width]
                stride: Literal[1, 2] = 2 if first and halves == 1 else 1
                blocks.append(
                    Block(kind=kind, channels=channels, stride=stride, residual=residual == 1)
                )
                first = False
        head, hidden, activation, *recipe = row[self.stages * each :]
        return ConvStack(
            blocks=tuple(blocks),
            head=self.heads[head],
            hidden=self.hidden[hidden],
            activation=self.activations[activation],
            recipe=recipe_of(recipe) if self.recipes else None,
        )
