"""`evener train`: a network over ranks, by any rule of who sees whom."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from evener.artifacts.topology import Halo, InputLayout, Topology
from evener.cli import options, output, targets, values
from evener.cli.auto import auto_options, is_auto, train_chosen
from evener.cli.ranked import on_ranks
from evener.cli.sweep import EqualWeights, read_sweep, sweep_networks, sweep_options
from evener.cli.train_options import (
    OpenHalo,
    keeping_options,
    learning_options,
    network_options,
    replicas_option,
)
from evener.cli.verb import Verb
from evener.errors import InputError
from evener.units import count, show

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator
    from evener.train.over_ranks import TrainingResult
    from evener.workflow.training_wish import (
        Hidden,
        Layout,
        OnFailure,
        Optimiser,
        Precision,
        TrainingWish,
    )


@click.command(
    cls=Verb,
    examples=(
        "evener train --shape 64,160,160,160,10 --data digits --shards 10 --halo 4 --epochs 40",
        "evener train --shape 2048,4096,4096,4096,2048 --ranks 2 --json",
        "evener train --shape 64,160,160,10 --data digits --ranks 4 --replicas 2 --batch 64",
        "evener train --shape 2048,4096,4096,4096,2048 --batch 16 --auto",
        "evener train --shape 2048,4096,4096,4096,2048 --halo auto --within '20 ms' --ranks 2",
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
@auto_options
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
    auto: bool,
    within_s: float | None,
    ranks: int | None,
    replicas: int,
    shards: int | None,
    halo: OpenHalo | None,
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
        topology=_topology(halo, coarse, cast("InputLayout", input_layout), shuffle=shuffle),
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
    chosen = is_auto(auto=auto, halo_open=halo == "auto", within_s=within_s)
    if swept is not None and chosen:
        raise InputError("--sweep compares networks, and --auto trains one: leave out either")
    if swept is not None:
        return sweep_networks(swept, ranks=ranks, timeout_s=timeout_s, as_json=as_json)
    told = partial(_tell, random=data is None and project is None)
    if chosen:
        latitude = workflow.Latitude(ranks=ranks, halo=halo == "auto", iteration_s=within_s)
        return train_chosen(wish, latitude, _train, told, timeout_s=timeout_s, as_json=as_json)
    if ranks is not None and ranks > 1 and not is_launched() and not is_torchrun():
        workflow.prepare_training(wish, ranks=ranks)  # what is wrong is said before ranks start

    def act(communicator: "Communicator") -> int:
        trained = _train(wish, communicator)
        if trained is not None and as_json:
            output.print_json(trained)
        elif trained is not None:
            told(trained)
        return 0

    return on_ranks(ranks, act, timeout_s=timeout_s, outliving=wish.on_failure == "shrink")


def _train(wish: "TrainingWish", communicator: "Communicator") -> "TrainingResult | None":
    """Train on this rank, and return on the first one what came of it."""
    from evener import workflow

    prepared = workflow.prepare_training(wish, ranks=communicator.size)

    def lost(ended: int) -> None:
        if communicator.rank == 0:  # which another one may have been before
            left = count(communicator.size, "rank")
            output.note(
                f"{count(ended, 'rank')} ended; left are {left}, which go on from the last "
                "checkpoint, or from the start without one"
            )

    with output.progress() if communicator.rank == 0 else nullcontext() as report:
        trained = workflow.train_over_ranks(
            prepared, communicator, progress=report, on_failure=wish.on_failure, lost=lost
        )
    return trained if communicator.rank == 0 else None


def _topology(
    halo: OpenHalo | None, coarse: int, layout: InputLayout, *, shuffle: bool
) -> Topology | None:
    """Return what the options say of who sees whom; None if they say nothing."""
    if halo is None and not shuffle and not coarse and layout == "replicated":
        return None
    seen: Halo = "full" if halo is None or halo == "auto" else halo
    return Topology(halo=seen, shuffle=shuffle, coarse=coarse, input=layout)


def _tell(trained: "TrainingResult", *, random: bool) -> None:
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
