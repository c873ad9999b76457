"""What a project's [search] comes to where networks are blocks of convolutions."""

from typing import Final, Literal

from evener.artifacts.conv_stack import Block, ConvStack
from evener.artifacts.networks import Ends
from evener.artifacts.search_section import SearchSection
from evener.errors import InputError
from evener.search.conv_space import ConvSpace

LEAST_SIDE: Final = 12  # of pictures that have places enough for blocks, unless they are asked for
_HIDDEN: Final = (0, 64)
_FLAT: Final = 1 << 16  # numbers that a dense layer may see; of large pictures it would fill memory


def picture_of_blocks(section: SearchSection, ends: Ends) -> tuple[int, int, int] | None:
    """Return the picture that blocks read; None where networks are layers of units.

    Args:
        section: of the project.
        ends: what networks stand between.

    Raises:
        InputError: blocks are asked for, and rows are no pictures.

    Example:
        >>> picture_of_blocks(SearchSection(), Ends(features=784, outputs=10, picture=(1, 28, 28)))
        (1, 28, 28)
    """
    if section.algorithm == "coevolution":  # grows layers, also where rows are pictures
        return None
    picture = ends.picture
    if section.networks == "blocks" and picture is None:
        raise InputError(
            f'search.networks = "blocks" reads pictures, and a row is {ends.features} numbers in '
            'no order: write "layers", or give data of pictures'
        )
    large = picture is not None and min(picture[1:]) >= LEAST_SIDE
    wanted = large if section.networks == "auto" else section.networks == "blocks"
    return picture if wanted else None


def block_space(section: SearchSection, picture: tuple[int, int, int]) -> ConvSpace:
    """Return the networks that may be found.

    Dense layers may see every place of the last block where all places of the picture, each with
    the most channels, are 65,536 numbers or fewer.

    Args:
        section: of the project.
        picture: channels, height and width of a row.
    """
    _, height, width = picture
    small = height * width * section.channels[-1] <= _FLAT
    return ConvSpace(
        heads=("mean", "flatten") if small else ("mean",),
        stages=section.stages,
        blocks=section.blocks,
        channels=section.channels,
        hidden=_HIDDEN,
        activations=section.activations,
        recipes=section.recipes,
        picture_channels=picture[0],
    )


def fixed_blocks(section: SearchSection) -> ConvStack:
    """Return a network that nobody searched for: a convolution that halves, for each stage.

    Args:
        section: stages, channels and activations.

    Example:
        >>> str(fixed_blocks(SearchSection()))
        'blocks conv3x3(8)/2 conv3x3(16)/2 conv3x3(32)/2, relu'
    """
    halves: Literal[2] = 2
    places = [
        number * (len(section.channels) - 1) // max(section.stages - 1, 1)
        for number in range(section.stages)
    ]
    blocks = [
        Block(kind="conv3x3", channels=section.channels[place], stride=halves) for place in places
    ]
    return ConvStack(blocks=tuple(blocks), activation=section.activations[0])
