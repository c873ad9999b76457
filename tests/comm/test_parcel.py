"""Exceptions that cross processes."""

import pytest

from evener.comm.parcel import MOST_BYTES, pack_error, unpack_error
from evener.errors import ChannelError, InvalidFileError, MissingExtraError, StageFailedError


@pytest.mark.parametrize(
    "error",
    [
        StageFailedError("stage 1 failed", stage=1, processor="cpu1", frame_id=7),
        InvalidFileError("cannot read x", path="x"),
        MissingExtraError("MPI", extra="openmpi"),
        OSError(28, "no space"),
    ],
)
def test_an_error_arrives_with_its_type_text_and_fields(error: Exception) -> None:
    arrived = unpack_error(pack_error(error))

    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert {**vars(arrived)} == vars(error)


def test_the_traceback_and_the_cause_travel_as_a_note() -> None:
    with pytest.raises(ValueError, match="no such row") as caught:
        raise ValueError("no such row") from KeyError("row")
    arrived = unpack_error(pack_error(caught.value))

    (note,) = arrived.__notes__
    assert "KeyError: 'row'" in note
    assert "test_parcel.py" in note
    assert unpack_error(pack_error(arrived)).__notes__ == [note]


class Stubborn(Exception):  # noqa: N818 - the name says what it does
    def __reduce__(self) -> str:
        raise TypeError("not me")


class Mute(Exception):  # noqa: N818 - as above
    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")


@pytest.mark.parametrize("error", [Stubborn("hm"), Mute(code=3), ValueError("x" * 10**6)])
def test_what_cannot_be_pickled_or_is_too_long_arrives_as_text(error: Exception) -> None:
    parcel = pack_error(error)
    arrived = unpack_error(parcel)

    assert len(parcel) <= MOST_BYTES
    assert isinstance(arrived, ChannelError)
    assert str(arrived).startswith(f"{type(error).__name__}: {error}"[:100])
