"""Shift and mirror pictures, so that a network sees more of them than there are.

A view of a picture is where each of its numbers comes from; a shift repeats the edge it leaves.
Shapes in names: B rows of a batch, F numbers of a picture, V views.
"""

from itertools import product

import msgspec
import torch
from torch import Tensor

from evener.errors import InputError


class Augmentation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How pictures may change from one pass to the next; each way is as likely as another.

    Attributes:
        picture: channels, height and width of a row.
        shift: places in height and in width, at most, either way.
        mirror: whether left and right may change places.
    """

    picture: tuple[int, int, int]
    shift: int = 0
    mirror: bool = False

    def __post_init__(self) -> None:
        """Check what no type says.

        Raises:
            InputError: a picture of no size, or a shift that leaves nothing of it.
        """
        if min(self.picture) < 1 or not 0 <= self.shift < min(self.picture[1:]):
            raise InputError(
                f"pictures of {self.picture} (channels, height, width) shifted by {self.shift} "
                "places: give sizes of 1 or more, and a shift from 0 to less than either side"
            )

    @property
    def views(self) -> int:
        """How many ways there are to see a picture.

        Example:
            >>> Augmentation(picture=(1, 28, 28), shift=1, mirror=True).views
            18
        """
        return (2 * self.shift + 1) ** 2 * (1 + self.mirror)

    def sources(self) -> Tensor:
        """Return from where each number of each view comes, (V, F).

        Example:
            >>> Augmentation(picture=(1, 1, 3), mirror=True).sources().tolist()
            [[0, 1, 2], [2, 1, 0]]
        """
        channels, height, width = self.picture
        places = torch.arange(channels * height * width).view(channels, height, width)
        by = range(-self.shift, self.shift + 1)
        views = []
        for mirrored, down, right in product(range(1 + self.mirror), by, by):
            rows = (torch.arange(height) - down).clamp(0, height - 1)
            columns = (torch.arange(width) - right).clamp(0, width - 1)
            moved = places[:, rows][:, :, columns]
            views.append((moved.flip(2) if mirrored else moved).flatten())
        return torch.stack(views)


def seen(x_BF: Tensor, views_B: Tensor, sources_VF: Tensor, into_BF: Tensor) -> None:
    """Write each picture as one of its views shows it.

    Args:
        x_BF: pictures.
        views_B: number of the view of each.
        sources_VF: of `Augmentation.sources`.
        into_BF: other memory, where they go.
    """
    torch.gather(x_BF, 1, sources_VF.index_select(0, views_B), out=into_BF)
