"""Write the parts of a network as ONNX files that anything which reads ONNX can run."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from evener.artifacts.files import save, write_whole
from evener.artifacts.folder import new_folder, refuse_existing
from evener.artifacts.split import Piece, Split
from evener.network.blocks import Blocks
from evener.network.cuts import segments_between
from evener.network.model import Network
from evener.network.split import segment_model, segment_states
from evener.network.uncut import check_can_be_cut
from evener.workflow.choices import settle
from evener.workflow.cutting import Cutting, CuttingChoices
from evener.workflow.opened import Progress


def split_network(
    net: str,
    *,
    cuts: Sequence[int],
    folder: Path,
    cutting: Cutting = Cutting(),
    progress: Progress | None = None,
    **choices: Unpack[CuttingChoices],
) -> Split:
    """Cut a network into ONNX files, `NAME.0.onnx` and so on, beside a manifest, `NAME.split.json`.

    Each part reads what the part before it hands on, under the names that the manifest lists.
    The folder is there with all its files or not at all.

    Args:
        net: path of an ONNX file, or name of a built-in network.
        cuts: the block after which each part but the last ends, counted from 0, ascending.
        folder: where the files go; it must not exist yet.
        cutting: how the network is read and cut into the blocks that `cuts` counts.
        progress: told which part is being written.
        choices: fields of `cutting`.

    Raises:
        InputError: the network, a shape or a cut cannot be used, or the folder exists or cannot be
            written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as place:
        ...     split = split_network("squeezenet", cuts=[8], folder=Path(place) / "halves")
        >>> [part.file for part in split.parts]
        ['squeezenet.0.onnx', 'squeezenet.1.onnx']
    """
    (cutting,) = settle(choices, cutting)
    refuse_existing(folder)
    network = cutting.load(net)
    blocks = cutting.cut(network)
    if cuts:
        check_can_be_cut(network, blocks)
    segments = segments_between(
        cuts, blocks=len(blocks.blocks), network=network.name, formed=blocks.form_segment
    )
    with new_folder(folder) as partial:
        pieces: list[Piece] = []
        for number, segment in enumerate(segments):
            if progress is not None:
                progress("writing the parts", number, len(segments))
            pieces.append(_write(partial, network, blocks, number, segment))
        split = Split(
            network=network.name,
            network_sha256=network.sha256,
            granularity=cutting.granularity,
            parts=tuple(pieces),
        )
        save(partial / f"{network.name}.split.json", split, made_from={"network": network.sha256})
    return split


def _write(folder: Path, network: Network, blocks: Blocks, number: int, segment: range) -> Piece:
    first, last = segment[0], segment[-1]
    content = segment_model(network, blocks, first, last, passing=True)
    file = f"{network.name}.{number}.onnx"
    write_whole(folder / file, content)
    return Piece(
        file=file,
        sha256=hashlib.sha256(content).hexdigest(),
        first_block=first,
        last_block=last,
        inputs=blocks.blocks[first].inputs,
        outputs=blocks.blocks[last].outputs,
        states={
            state.output.name: state.input.name
            for state in segment_states(network, blocks, first, last)
        },
    )
