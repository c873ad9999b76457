"""Whether one way to exchange on a ring of ranks brings the right values."""

import msgspec


class RingCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found of a call of an MPI library.

    Attributes:
        name: of the call.
        ranks: size of the ring.
        right: whether every rank received what its neighbours sent it.
    """

    name: str
    ranks: int
    right: bool
