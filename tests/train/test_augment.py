"""Views of a picture."""

import numpy as np
import pytest
import torch

from evener.errors import InputError
from evener.train.augment import Augmentation, seen
from evener.train.draw import row_views

PICTURE = torch.arange(12.0).view(1, 12)  # one channel of 3 by 4


def shown(augmentation: Augmentation, view: int) -> list[list[float]]:
    into = torch.empty_like(PICTURE)
    seen(PICTURE, torch.tensor([view]), augmentation.sources(), into)
    return into.view(3, 4).tolist()


def test_every_shift_and_its_mirror_image_is_a_view() -> None:
    both = Augmentation(picture=(1, 3, 4), shift=1, mirror=True)

    found = {tuple(map(tuple, shown(both, view))) for view in range(both.views)}

    assert len(both.sources()) == len(found) == 18
    assert shown(both, 4) == PICTURE.view(3, 4).tolist()
    assert shown(both, 13) == PICTURE.view(3, 4).flip(1).tolist()


def test_a_shift_repeats_the_edge_that_it_leaves() -> None:
    assert shown(Augmentation(picture=(1, 3, 4), shift=1), 8) == [
        [0, 0, 1, 2],
        [0, 0, 1, 2],
        [4, 4, 5, 6],
    ]


def test_channels_keep_their_places() -> None:
    sources = Augmentation(picture=(3, 5, 4), shift=2, mirror=True).sources()

    assert (sources // 20 == torch.arange(60) // 20).all()


def test_views_are_drawn_from_seed_and_epoch_evenly() -> None:
    drawn = row_views(3, 1, 9000, 9)

    assert np.bincount(drawn, minlength=9).min() > 800
    assert (drawn == row_views(3, 1, 9000, 9)).all()
    assert (drawn != row_views(3, 2, 9000, 9)).any()
    assert (drawn != row_views(4, 1, 9000, 9)).any()


@pytest.mark.parametrize(("picture", "shift"), [((1, 0, 4), 0), ((1, 3, 4), 3), ((1, 3, 4), -1)])
def test_what_leaves_nothing_of_a_picture_is_refused(
    picture: tuple[int, int, int], shift: int
) -> None:
    with pytest.raises(InputError, match="a shift from 0 to less than either side"):
        Augmentation(picture=picture, shift=shift)
