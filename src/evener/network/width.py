"""Whether a network has branches that could be computed at once."""

from itertools import pairwise

from evener.network.cost import is_main
from evener.network.flow import flow_of
from evener.network.model import Network


def has_branches(network: Network) -> bool:
    """Return whether some convolution or product with weights need not wait for the one before it.

    Example:
        >>> from evener.network.model import load_network
        >>> has_branches(load_network("googlenet")), has_branches(load_network("alexnet"))
        (True, False)
    """
    flow = flow_of(network.model.graph)
    main = [number for number, node in enumerate(flow.nodes) if is_main(node)]
    # In a row in which each needs the one before it, each needs all before it.
    return any(not flow.before[second] >> first & 1 for first, second in pairwise(main))
