"""What one convolutional network of a population is, and how it wants to be trained."""

from math import prod

import msgspec

from evener.artifacts.conv_stack import Block, ConvStack, HeadKind
from evener.errors import InputError
from evener.train.conv_layers import ConvLayer, Picture, conv_layers
from evener.train.population.individual import ActivationName
from evener.train.population.trainee import RuleName, check_numbers


class ConvIndividual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Blocks of convolutions and dense layers; a row is a picture.

    Everything random is drawn from the seed alone, as of `evener.train.population.individual`.

    Attributes:
        picture: channels, height and width of what a row holds, in this order.
        blocks: of the network.
        outputs: how many.
        head: what the first dense layer sees of the last block: the mean of each channel, or every
            place.
        hidden: units of a dense layer before the output; 0 for none.
        activation: of convolutions and of the hidden layer.
        seed: what weights and the order of rows are drawn from.
        optimiser: "sgd", or "adam" (Kingma and Ba, 2015).
        learning_rate: at its highest.
        momentum: of sgd; of adam its first beta.
        weight_decay: of weights and biases, added to the gradient as in PyTorch.
        weight_variance: of a weight, times the numbers that its sum adds up; with 2 a relu network
            starts at the edge of chaos (He et al., 2015).
        bias_variance: of a bias.

    Example:
        >>> conv = Block(kind="conv3x3", channels=8, stride=2)
        >>> one = ConvIndividual(picture=(1, 28, 28), blocks=(conv,), outputs=10)
        >>> one.ends, one.depth
        ((784, 10), 2)
    """

    picture: Picture
    blocks: tuple[Block, ...]
    outputs: int
    head: HeadKind = "mean"
    hidden: int = 0
    activation: ActivationName = "relu"
    seed: int = 0
    optimiser: RuleName = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0
    weight_variance: float = 2.0
    bias_variance: float = 0.0

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a picture or outputs of no size, blocks that are no network, or a number
                that nobody can train with.
        """
        ConvStack(blocks=self.blocks)  # checks how blocks follow one another
        if min(*self.picture, self.outputs) < 1 or self.hidden < 0:
            raise InputError(
                f"pictures of {self.picture} (channels, height, width), {self.hidden} hidden units "
                f"and {self.outputs} outputs: give 1 or more of each, and 0 or more hidden units"
            )
        first = self.blocks[0] if self.blocks else None
        if first and first.kind == "pool3x3" and first.channels != self.picture[0]:
            raise InputError(
                f"block 0 (pool3x3, {first.channels} channels): pooling keeps the "
                f"{self.picture[0]} channels of the picture"
            )
        check_numbers(self)

    @property
    def layers(self) -> tuple[ConvLayer, ...]:
        """Its operations, in order."""
        return conv_layers(self.blocks, self.head, self.hidden, self.picture, self.outputs)

    @property
    def weighted(self) -> tuple[ConvLayer, ...]:
        """Those of its layers that have weights, which are numbered from 1."""
        return tuple(one for one in self.layers if one.shape)

    @property
    def ends(self) -> tuple[int, int]:
        """Numbers of a picture, and outputs."""
        return prod(self.picture), self.outputs

    @property
    def depth(self) -> int:
        """How many layers have weights."""
        return len(self.weighted)

    @property
    def dropout(self) -> float:
        """No unit is left out."""
        return 0.0
