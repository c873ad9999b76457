"""`evener train`: a network over ranks, by any rule of who sees whom."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from evener.artifacts.topology import Halo, InputLayout, Topology
from evener.cli import options, output, targets, values
from evener.cli.ranked import on_ranks
from evener.cli.sweep import EqualWeights, read_sweep, sweep_networks, sweep_options
from evener.cli.train_options import (
    keeping_options,
    learning_options,
    network_options,
    replicas_option,
)
from evener.cli.verb import Verb
from evener.units import count, show

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator
    from evener.train.over_ranks import TrainingResult
    from evener.workflow.training import Hidden, Layout, OnFailure, Optimiser, Precision


@click.command(
    cls=Verb,
    examples=(
        "evener train --shape 64,160,160,160,10 --data digits --shards 10 --halo 4 --epochs 40",
        "evener train --shape 2048,4096,4096,4096,2048 --ranks 2 --json",
        "evener train --shape 64,160,160,10 --data digits --ranks 4 --replicas 2 --batch 64",
        "evener train --shape 2048,32768,8192,4096,2048 --shards 1024 --halo boundary",
        "evener train --shape 64,160,10 --data digits --shards 8 --halo 2 --coarse 2 --shuffle",
        "evener train --shape 64,160,160,10 --data digits --ranks 2 --checkpoint kept --resume",
        "evener train --shape 64,160,10 --data digits --epochs 20 -o digits.onnx",
        "evener train --shape 3,64,128,256,64 --layout paper --shards 4",
        "evener train examples/digits --shards 8 --halo 2 --ranks 2",
        "evener train --shape 64,160,160,10 --data digits --shards 10 --sweep halo=0,1,4,full",
    ),
    what_next="Plan and run what -o wrote: evener run digits.onnx --shape features=1,64 --frames "
    "100. Check what several ranks compute here: evener verify --ranks 2.",
)
@click.argument("project", required=False, callback=values.through(values.read_path))
@network_options
@learning_options
@sweep_options
@options.ranks_option
@replicas_option
@options.timeout_option
@keeping_options
@options.json_option
def command(
    *,
    project: Path | None,
    widths: tuple[int, ...] | None,
    data: str | None,
    ranks: int | None,
    replicas: int,
    shards: int | None,
    halo: Halo,
    shuffle: bool,
    coarse: int,
    input_layout: str,
    layout: str,
    activation: str,
    batch: int | None,
    iterations: int | None,
    epochs: int | None,
    optimiser: str,
    learning_rate: float | None,
    precision: str,
    seed: int,
    sweep: tuple[str, ...],
    seeds: int | None,
    equal_weights: EqualWeights | None,
    checkpoint: Path | None,
    resume: bool,
    log: Path | None,
    on_failure: str,
    timeout_s: float | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Train a network, sharded over ranks.

    PROJECT is the folder of a project that was built; or --shape says what the network is. Shards
    say which weights exist, and ranks who computes them: the network comes out the same on any
    number of ranks. It ends in a line with the time of an iteration beside the least that its
    weights need to pass through memory.
    """
    targets.spare(out, data)
    from evener import workflow
    from evener.comm.started import is_launched, is_torchrun

    wish = workflow.TrainingWish(
        project=project,
        widths=widths,
        data=data,
        layout=cast("Layout", layout),
        shards=shards,
        replicas=replicas,
        topology=Topology(
            halo=halo, shuffle=shuffle, coarse=coarse, input=cast("InputLayout", input_layout)
        ),
        batch=batch,
        iterations=iterations,
        epochs=epochs,
        optimiser=cast("Optimiser", optimiser),
        learning_rate=learning_rate,
        precision=cast("Precision", precision),
        activation=cast("Hidden", activation),
        seed=seed,
        checkpoint=checkpoint,
        resume=resume,
        log=log,
        on_failure=cast("OnFailure", on_failure),
        out=out,
    )
    swept = read_sweep(wish, settings=sweep, seeds=seeds, equal_weights=equal_weights)
    if swept is not None:
        return sweep_networks(swept, ranks=ranks, timeout_s=timeout_s, as_json=as_json)
    if ranks is not None and ranks > 1 and not is_launched() and not is_torchrun():
        workflow.prepare_training(wish, ranks=ranks)  # what is wrong is said before ranks start

    def act(communicator: "Communicator") -> int:
        prepared = workflow.prepare_training(wish, ranks=communicator.size)

        def lost(ended: int) -> None:
            if communicator.rank == 0:  # which another one may have been before
                left = count(communicator.size, "rank")
                output.note(f"{count(ended, 'rank')} ended; from the last checkpoint go on: {left}")

        with output.progress() if communicator.rank == 0 else nullcontext() as report:
            trained = workflow.train_over_ranks(
                prepared, communicator, progress=report, on_failure=wish.on_failure, lost=lost
            )
        if communicator.rank == 0:
            _tell(trained, random=data is None and project is None, as_json=as_json)
        return 0

    return on_ranks(ranks, act, timeout_s=timeout_s, outliving=wish.on_failure == "shrink")


def _tell(trained: "TrainingResult", *, random: bool, as_json: bool) -> None:
    if as_json:
        output.print_json(trained)
        return
    times = trained.iteration_s / trained.bound_s if trained.bound_s else 0.0
    layers = "-".join(map(str, trained.widths))
    kind = "the paper's layout" if trained.layout == "paper" else str(trained.topology)
    took, bound = show(trained.iteration_s, "time"), show(trained.bound_s, "time")
    rows = count(trained.batch, "row")
    ranks = count(trained.ranks, "rank")
    if trained.replicas > 1:
        ranks += f", {trained.replicas} replicas"
    sent = show(trained.bytes_per_iteration, "size")
    lesson = " of random rows, which teach nothing" if random else ""
    lines = [
        f"{layers} by {kind}: {count(trained.weights, 'weight')} on {ranks}",
        f"{took} an iteration of {rows}, {times:.2f} times the bound of {bound}",
        f"{trained.communication_share:.1%} of it in messages, {sent} sent",
        f"loss {trained.loss:.6g} after {count(trained.iterations, 'iteration')}{lesson}",
    ]
    if trained.test is not None:
        lines.append(f"{trained.test:.2%} of the test rows are answered right")
    output.print_for_people(*lines)
    if trained.network is not None:
        output.note(f"wrote {trained.network}")
