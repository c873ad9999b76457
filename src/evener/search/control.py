"""Keep the share of offspring that are new in a band, by the rate of mutation.

That share is Langton's lambda of the search itself: of T offspring made, q had a network that was
seen before, and lambda = (T - q) / T. Too small and the search repeats itself, too large and it
draws at random; with duplicates free of charge it does best between 0.2 and 0.6.
"""

from typing import Final

import msgspec

_STEP: Final = 1.1  # factor of one correction
_MEMORY: Final = 0.8  # share of older offspring that counts on, per generation
_ENOUGH: Final = 20.0  # offspring before the share is believed
_LOWEST: Final = 1e-4
_HIGHEST: Final = 0.5  # a rate beyond inverts more than it keeps


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """A rate of mutation and what it led to.

    Attributes:
        rate: probability with which a bit is inverted.
        low: least share of new offspring that is wanted.
        high: largest share; 0 and 1 leave the rate alone.
        made: offspring, older ones counting less.
        new: those of them whose network was new.
    """

    rate: float
    low: float = 0.2
    high: float = 0.6
    made: float = 0.0
    new: float = 0.0

    @property
    def lambda_(self) -> float | None:
        """The share of new offspring; None before there was any."""
        return self.new / self.made if self.made else None

    def after(self, made: int, new: int) -> "Control":
        """Return the control after a generation, its rate corrected if the share left the band.

        Args:
            made: offspring of the generation.
            new: those of them that were new.

        Example:
            >>> Control(rate=0.1).after(made=20, new=0).rate
            0.11000000000000001
        """
        now = msgspec.structs.replace(
            self, made=_MEMORY * self.made + made, new=_MEMORY * self.new + new
        )
        if now.lambda_ is None or now.made < _ENOUGH:
            return now
        if now.lambda_ < self.low:
            return msgspec.structs.replace(now, rate=min(self.rate * _STEP, _HIGHEST))
        if now.lambda_ > self.high:
            return msgspec.structs.replace(
                now, rate=max(self.rate / _STEP, min(self.rate, _LOWEST))
            )
        return now
