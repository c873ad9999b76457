"""A tensor by name: what enters and leaves a network, a segment and a session."""

from math import prod

import msgspec


class Tensor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Name, static shape and element type of a tensor.

    Attributes:
        name: its name in the network.
        shape: sizes, all known and positive.
        dtype: numpy's name of the element type, such as "float32".
    """

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def size_bytes(self) -> int:
        """Bytes that its elements take.

        Example:
            >>> Tensor(name="x", shape=(1, 3, 224, 224), dtype="float32").size_bytes
            602112
        """
        import numpy as np

        return prod(self.shape) * np.dtype(self.dtype).itemsize
