"""Read a network from the line that names it, as a search prints it and people write it."""

import re
from typing import Final, get_args

import msgspec

from evener.artifacts.conv_stack import Block, BlockKind, ConvStack, HeadKind
from evener.artifacts.layer_graph import Activation, LayerGraph
from evener.artifacts.topology import Halo, Topology
from evener.errors import InputError

_LAYERS: Final = re.compile(
    r"(?:layers )?(?P<widths>none|\d+(?:-\d+)*)(?: (?P<activation>[a-z]+))?"
    r"(?:, (?P<links>\d+) links?)?(?:, (?P<shards>\d+) shards?, halo (?P<halo>\d+|full))?"
)
_BLOCK: Final = re.compile(
    r"(?P<kind>[a-z]+\dx\d)\((?P<channels>\d+)\)(?P<half>/2)?(?P<residual>\+)?"
)
_HIDDEN: Final = re.compile(r"hidden (?P<units>\d+)")
_ACTIVATIONS: Final[tuple[Activation, ...]] = get_args(Activation)
_KINDS: Final[tuple[BlockKind, ...]] = get_args(BlockKind)
_MOST_DIGITS: Final = 9  # of a size; what has more is no number of units


def read_network(text: str, activation: Activation = "relu") -> LayerGraph | ConvStack:
    """Read a network: widths of layers one behind another, or blocks and what follows them.

    Args:
        text: such as "64-32", "layers 64-32 gelu, 3 links" or
            "blocks conv3x3(8)/2 pool3x3(8) conv1x1(16)+, flattened, hidden 64, relu".
        activation: where the text names none.

    Raises:
        InputError: it names no network, or layers with links that it does not say.

    Example:
        >>> str(read_network("64-32"))
        'layers 64-32 relu, 3 links'
        >>> str(read_network("conv3x3(8)/2 conv3x3(16), flattened", "gelu"))
        'blocks conv3x3(8)/2 conv3x3(16), flattened, gelu'
    """
    words = " ".join(text.split())
    if words.startswith("blocks") or "(" in words:
        return _read_blocks(words.removeprefix("blocks").strip(), activation, text)
    found = _LAYERS.fullmatch(words)
    if found is None:
        raise _none(text)
    sizes = [] if found["widths"] == "none" else found["widths"].split("-")
    widths = tuple(_number(one, text) for one in sizes)
    links = len(widths) + 1
    if found["links"] is not None and _number(found["links"], text) != links:
        raise InputError(
            f"'{text}': which of its {found['links']} links there are, its name does not say: give "
            f"layers one behind another, such as '{found['widths']}'"
        )
    return LayerGraph(
        widths=widths,
        links=tuple((node, node + 1) for node in range(links)),
        activation=_activation(found["activation"] or activation, text),
        topology=_topology(found["shards"], found["halo"], text),
    )


def _topology(shards: str | None, halo: str | None, text: str) -> Topology | msgspec.UnsetType:
    if shards is None or halo is None:
        return msgspec.UNSET
    seen: Halo = "full" if halo == "full" else _number(halo, text)
    return Topology(shards=_number(shards, text), halo=seen)


def _read_blocks(words: str, activation: str, text: str) -> ConvStack:
    row, *rest = words.split(", ")
    head: HeadKind = "mean"
    hidden = 0
    for part in rest:
        units = _HIDDEN.fullmatch(part)
        if units is not None:
            hidden = _number(units["units"], text)
        elif part == "flattened":
            head = "flatten"
        else:
            activation = part
    blocks = tuple(_block(one, text) for one in row.split(" ") if row != "none")
    named = _activation(activation, text)
    try:
        return ConvStack(blocks=blocks, head=head, hidden=hidden, activation=named)
    except InputError as error:
        raise InputError(f"'{text}': {error}") from error


def _block(word: str, text: str) -> Block:
    found = _BLOCK.fullmatch(word)
    if found is None:
        raise _none(text)
    kind = next((one for one in _KINDS if one == found["kind"]), None)
    if kind is None:
        raise InputError(f"'{text}': there is no block {found['kind']}; there is {_list(_KINDS)}")
    return Block(
        kind=kind,
        channels=_number(found["channels"], text),
        stride=2 if found["half"] else 1,
        residual=found["residual"] is not None,
    )


def _activation(name: str, text: str) -> Activation:
    for one in _ACTIVATIONS:
        if one == name:
            return one
    raise InputError(f"'{text}': there is no activation {name}; there is {_list(_ACTIVATIONS)}")


def _number(digits: str, text: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise InputError(f"'{text}': {digits} is no size; give a smaller number")
    return int(digits)


def _list(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _none(text: str) -> InputError:
    return InputError(
        f"'{text}' names no network: write layers such as '64-32 relu', or blocks such as "
        "'conv3x3(8)/2 conv3x3(16), flattened, hidden 64, relu'"
    )
