"""Put back in order what lanes of unequal speed finish out of order."""

from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class InOrder(Generic[ItemT]):
    """Holds items until every earlier one has been taken.

    It holds no more of them than there are frames in flight. Not safe between threads by itself.

    Args:
        first: number of the first item.

    Example:
        >>> order = InOrder()
        >>> order.put(1, "second"), order.pop()
        (None, None)
        >>> order.put(0, "first"), order.pop(), order.pop()
        (None, 'first', 'second')
    """

    def __init__(self, first: int = 0) -> None:
        self._next = first
        self._early: dict[int, ItemT] = {}

    def __len__(self) -> int:
        return len(self._early)

    def put(self, number: int, item: ItemT) -> None:
        """Hold an item until it is its turn."""
        self._early[number] = item

    def pop(self) -> ItemT | None:
        """Take the item whose turn it is; None if it is not there yet."""
        item = self._early.pop(self._next, None)
        if item is not None:
            self._next += 1
        return item
