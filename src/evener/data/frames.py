"""The frames of a run: random ones that go round, or those of a source, read as they are needed."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, cycle, islice
from typing import Final, Self

from evener.data.source import Source, Sourced
from evener.errors import InvalidDataError
from evener.network.frames import Frame

SAMPLE_FRAMES: Final = 256
SAMPLE_BYTES: Final = 64 * 2**20
LIVE_FRAMES: Final = 8  # of a source that makes its frames as time goes by


class Frames:
    """The frames of one run, of which some are at hand from the beginning.

    Iterate over them once; however many there are, no more are held than are at hand and in flight.

    Args:
        sample: frames at hand, at least one.
        frames: all of them, those at hand included.
        count: how many; None where only reading them tells.
        round_again: whether the run takes those at hand again and again.
        name: what they are from, for errors.

    Attributes:
        sample: the frames at hand, to warm up and to compare with.
        have_ids: whether the source tells its frames apart by more than their numbers.
        have_pictures: whether they are made from pictures.
    """

    def __init__(
        self,
        sample: Sequence[Sourced],
        frames: Iterator[Sourced],
        *,
        count: int | None,
        round_again: bool,
        name: str,
    ) -> None:
        self.sample: Sequence[Frame] = [one.frame for one in sample]
        self.have_ids = any(one.id is not None for one in sample)
        self.have_pictures = all(one.picture is not None for one in sample)
        self.count = count
        self.round_again = round_again
        self._name = name
        self._places = [one.where for one in sample]
        self._frames = frames
        self._followed = False
        self._given: deque[tuple[int, Sourced]] = deque()

    @classmethod
    def going_round(cls, pool: Sequence[Frame], count: int) -> Self:
        """Take frames again from the first when they run out: frame i is `pool[i % len(pool)]`.

        Example:
            >>> one, two = (object(),), (object(),)
            >>> list(Frames.going_round([one, two], 3)) == [one, two, one]
            True
        """
        held = [Sourced(frame, f"frame {number}") for number, frame in enumerate(pool[:count])]
        return cls(
            held,
            (held[index % len(held)] for index in range(count)),
            count=count,
            round_again=True,
            name="the frames",
        )

    @classmethod
    def read(cls, source: Source) -> Self:
        """Read the first frames of a source, and the others when they are asked for.

        Raises:
            InputError: the source holds no frame, or its first ones cannot be used.
        """
        held: list[Sourced] = []
        size = 0
        most = LIVE_FRAMES if source.live else SAMPLE_FRAMES
        for one in source.frames:
            held.append(one)
            size += sum(array.nbytes for array in one.frame)
            if len(held) == most or size >= SAMPLE_BYTES:
                break
        if not held:
            raise InvalidDataError(f"{source.name} holds no frames; give at least one")
        return cls(
            held,
            chain(held, source.frames),
            count=source.count,
            round_again=False,
            name=source.name,
        )

    def again(self) -> Iterator[Frame]:
        """Give the frames at hand without end, to warm up."""
        return cycle(self.sample)

    def to_compare(self, *, each_by_itself: bool) -> tuple[Sequence[Frame], int]:
        """Return frames at hand to compare the run's answers by, and how many answers that is.

        The answer to frame i is to be that to the one at `i % len`.

        Args:
            each_by_itself: whether a frame that comes again has another answer: the network has a
                state.
        """
        if not self.round_again or self.count is None:
            return self.sample, len(self.sample)
        if not each_by_itself:
            return self.sample, self.count
        many = min(self.count, SAMPLE_FRAMES)
        return list(islice(self.again(), many)), many

    def __iter__(self) -> Iterator[Frame]:
        """Give every frame of the run once."""
        for number, one in enumerate(self._frames):
            if self._followed:
                self._given.append((number, one))
            yield one.frame

    def follow(self) -> None:
        """Remember where each frame is from until `origin` was asked, from the next one on."""
        self._followed = True

    def origin(self, number: int) -> Sourced:
        """Return what a frame is from, and forget it and those before it; ask in order."""
        while True:
            given, one = self._given.popleft()
            if given == number:
                return one

    def where(self, number: int) -> str:
        """Say where a frame at hand is from, such as "line 7 of rows.csv"."""
        return f"{self._places[number % len(self._places)]} of {self._name}"
