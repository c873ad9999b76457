"""What a network of layers has of one of its parents: the same nodes, and links that it gave."""

import msgspec


class Homology(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes of a parent and of its child are the same, and which links are the parent's.

    Attributes:
        nodes: pairs of a node of the parent and the same node of the child; input and output are
            among them.
        links: of the child, those whose weights are to come from this parent, which has each.
    """

    nodes: tuple[tuple[int, int], ...]
    links: tuple[tuple[int, int], ...]
