"""How what a machine was measured to do in training looks to a person."""

from rich.console import Group, RenderableType
from rich.text import Text

from evener.artifacts.calibration import Calibration
from evener.cli.layout import lay_out, table
from evener.units import show


@lay_out.register
def _(calibration: Calibration) -> RenderableType:
    link = calibration.link
    return Group(
        table(
            f"One core of {calibration.processor}",
            ("of arrays of", ">read", ">scaled in place"),
            [
                (
                    show(read.at, "size"),
                    f"{show(read.per_s, 'size')}/s",
                    f"{show(update.per_s, 'size')}/s",
                )
                for read, update in zip(calibration.reads, calibration.updates, strict=True)
            ],
        ),
        table(
            "Products of matrices of 1,024 rows and columns with a batch",
            (">rows of the batch", ">operations"),
            [
                (f"{rate.at:g}", f"{show(rate.per_s, 'count')}FLOP/s")
                for rate in calibration.products
            ],
        ),
        Text(
            f"a layer costs {show(calibration.dense_layer_s, 'time')} beside its weights, "
            f"{show(calibration.sharded_layer_s, 'time')} where shards see a part, and "
            f"{show(calibration.shard_s, 'time')} each of them with one row"
        ),
        Text(
            "messages between ranks were not measured: give --mpi"
            if link is None
            else f"{link.name}: {show(link.latency_s, 'time')} a message, "
            f"{show(link.gap_s, 'time')} each further one, "
            f"{show(link.bandwidth_bytes_per_s, 'size')}/s"
        ),
    )
