"""Put back in order what lanes of unequal speed finish out of order."""

from typing import Generic, Protocol, TypeVar

from evener.comm.channel import Message, Slot

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
        self._skipped: set[int] = set()

    def __len__(self) -> int:
        return len(self._early)

    def put(self, number: int, item: ItemT) -> None:
        """Hold an item until it is its turn."""
        self._early[number] = item

    def skip(self, number: int) -> None:
        """Know that no item of a number will come."""
        self._skipped.add(number)

    def pop(self) -> ItemT | None:
        """Take the item whose turn it is; None if it is not there yet."""
        while self._next in self._skipped:
            self._skipped.remove(self._next)
            self._next += 1
        item = self._early.pop(self._next, None)
        if item is not None:
            self._next += 1
        return item


class Inlet(Protocol):
    """The reading half of a channel."""

    def get(self, deadline: float | None = None) -> Message:
        """Take the next frame; see `evener.comm.channel.Channel.get`."""
        ...

    def free(self, slot: Slot) -> None:
        """Give a slot back that `get` returned."""
        ...


class OrderedInlet:
    """An inlet whose frames come in order, whatever lanes of the stage before finish first.

    What is early keeps its slot: a channel has one for every frame in flight.

    Args:
        inlet: where frames come from, in any order and none left out.
    """

    def __init__(self, inlet: Inlet) -> None:
        self._inlet = inlet
        self._order: InOrder[Message] = InOrder()

    def begin(self, first: int = 0) -> None:
        """Wait for the first frame of a new run; none of another may be in flight."""
        self._order = InOrder(first)

    def get(self, deadline: float | None = None) -> Message:
        """Take the frame that follows the last one taken."""
        while (message := self._order.pop()) is None:
            early = self._inlet.get(deadline)
            self._order.put(early.frame_id, early)
        return message

    def free(self, slot: Slot) -> None:
        """Give a slot back that `get` returned."""
        self._inlet.free(slot)
