"""Train over ranks; all that it needs is read and checked as a whole before anything starts."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from evener.artifacts.files import load
from evener.artifacts.folder import check_place
from evener.artifacts.front import Front
from evener.artifacts.networks import Network, chain_of, topology_of
from evener.artifacts.project import FILE_NAME, DataSection, load_project
from evener.errors import InputError, InvalidFileError
from evener.units import count
from evener.workflow.opened import Progress
from evener.workflow.steps import STATE_FOLDER
from evener.workflow.training_wish import Hidden, OnFailure, Optimiser, TrainingWish

if TYPE_CHECKING:
    from evener.comm.communicator import Communicator
    from evener.data.dataset import Dataset
    from evener.train.activations import Activation
    from evener.train.over_ranks import Job, Rows, TrainingResult
    from evener.train.shape import Shape

MOMENTUM: Final = 0.9
DEFAULT_ITERATIONS: Final = 20
_RATES: Final[dict[Optimiser, float]] = {"sgd": 0.1, "momentum": 0.01, "adamw": 0.003}
_BATCH: Final = 32  # where there are rows to learn from


def prepare_training(wish: TrainingWish, *, ranks: int = 1) -> "Job":
    """Read and check everything that a training needs, without training.

    Args:
        wish: what the user wants.
        ranks: how many there are; one plays all of the paper's layout in turn.

    Raises:
        InputError: something is wrong with it, with the data or the checkpoint.
        MissingExtraError: PyTorch or scikit-learn is missing.
    """
    wish.check()
    wish = _divided(wish)
    from evener.train.over_ranks import Job
    from evener.train.recipe import Recipe
    from evener.train.step_log import check_log

    dataset = _dataset(wish)
    widths, activation = _layers(wish, dataset)
    shards = _shards(wish, widths, ranks)
    batch = wish.batch or (1 if dataset is None else _BATCH)
    if batch < wish.replicas:
        raise InputError(
            f"{count(wish.replicas, 'replica')} and batches of {count(batch, 'row')}: each replica "
            f"takes a part of a batch; give --batch {wish.replicas} or more, or fewer replicas"
        )
    if wish.checkpoint is not None:
        _check_checkpoint(wish.checkpoint, resume=wish.resume)
    if wish.log is not None:
        check_log(wish.log, goes_on=wish.resume)
    rows = _random_rows(widths, batch, wish.seed) if dataset is None else _rows(dataset, wish)
    per_epoch = -(-len(rows.inputs) // batch)
    iterations = wish.iterations or per_epoch * (wish.epochs or 0)
    if not iterations:
        iterations = DEFAULT_ITERATIONS if dataset is None else per_epoch
    last: Activation = "identity" if dataset is None else "softmax"
    return Job(
        shape=_shape(wish, widths, activation, last, shards),
        rows=rows,
        recipe=Recipe(
            epochs=-(-iterations // per_epoch),
            batch=batch,
            optimiser="adamw" if wish.optimiser == "adamw" else "sgd",
            momentum=MOMENTUM if wish.optimiser == "momentum" else 0.0,
            learning_rate=wish.learning_rate or _RATES[wish.optimiser],
            precision=wish.precision,
        ),
        iterations=iterations,
        layout=wish.layout,
        replicas=wish.replicas,
        checkpoint=wish.checkpoint,
        log=wish.log,
        out=wish.out,
    )


def train_over_ranks(
    job: "Job",
    communicator: "Communicator",
    *,
    progress: Progress | None = None,
    on_failure: OnFailure = "abort",
    lost: Callable[[int], object] | None = None,
) -> "TrainingResult":
    """Train what `prepare_training` returned; see `evener.train.over_ranks`.

    Args:
        job: what.
        communicator: the ranks; some may be fewer in the end, with other numbers.
        progress: told by the first rank how far it is.
        on_failure: "shrink" to go on from the last checkpoint where ranks end.
        lost: told, on each rank that is left, how many ended.

    Raises:
        InputError: these ranks cannot go on where one ends.
    """
    from evener.comm.survive import check_ranks, surviving
    from evener.train.over_ranks import train_job

    def act() -> "TrainingResult":
        return train_job(job, communicator, on_step=progress)

    if on_failure == "abort":
        return act()
    check_ranks(communicator)
    return surviving(communicator, act, lost or _say_nothing)


def _say_nothing(_: int) -> None:
    """Leave it to others."""


def _check_shards(shards: int, widths: tuple[int, ...]) -> None:
    if shards > max(widths):
        raise InputError(
            f"{shards} shards of layers of {count(max(widths), 'neuron')} at most, so that some "
            f"shards would have none anywhere: give --shards {max(widths)} or fewer, and no more "
            "ranks"
        )


def _shards(wish: TrainingWish, widths: tuple[int, ...], ranks: int) -> int:
    """Return how many shards there are, or workers; refuse ranks that cannot compute them."""
    from evener.train.paper import check_workers
    from evener.train.sharding import Placement

    if wish.layout == "paper":
        workers = wish.shards or max(1, ranks - 1)
        if ranks not in (1, workers + 1):
            raise InputError(
                f"the paper's layout with {workers} workers on {ranks} ranks: rank 0 is the master "
                f"and each other one a worker; start {workers + 1} ranks, or leave out --shards"
            )
        check_workers(widths, workers + 1)
        return workers
    if ranks % wish.replicas:
        raise InputError(
            f"{count(ranks, 'rank')} for {wish.replicas} replicas: each replica has as many ranks; "
            f"give --ranks {wish.replicas} or a multiple of it, or other --replicas"
        )
    each = ranks // wish.replicas
    shards = wish.shards or each
    Placement.even(shards, each)  # refuses fewer shards than ranks
    _check_shards(shards, widths)
    return shards


def _shape(
    wish: TrainingWish, widths: tuple[int, ...], hidden: Hidden, last: "Activation", shards: int
) -> "Shape":
    from evener.train.paper_twin import paper_shape
    from evener.train.shape import Shape

    if wish.layout == "paper":
        return paper_shape(widths, shards, seed=wish.seed)
    activations: tuple[Activation, ...] = (*((hidden,) * (len(widths) - 2)), last)
    topology = msgspec.structs.replace(wish.who_sees, shards=shards)
    return Shape(widths, activations, topology, wish.seed)


def _dataset(wish: TrainingWish) -> "Dataset | None":
    from evener.data.load import load_dataset
    from evener.train.sharded_fit import check_task

    if wish.project is not None:
        folder = _folder(wish.project)
        dataset = load_dataset(load_project(folder).data, folder)
    elif wish.data is None:
        return None
    else:
        dataset = load_dataset(DataSection(source=wish.data), Path())
    check_task(dataset)
    return dataset


def _divided(wish: TrainingWish) -> TrainingWish:
    """Return a wish for the shards of the architecture that a project's search divided.

    What the wish itself says of shards or of who sees whom comes before.
    """
    if wish.project is None or wish.shards is not None or wish.topology is not None:
        return wish
    topology = topology_of(_found(_folder(wish.project)))
    if topology is None:
        return wish
    return msgspec.structs.replace(wish, topology=topology, shards=topology.shards)


def _layers(wish: TrainingWish, dataset: "Dataset | None") -> tuple[tuple[int, ...], Hidden]:
    """Return the neurons of each layer, and the activation of the hidden ones."""
    if dataset is None:
        return wish.widths or (), wish.activation
    features, classes = dataset.features.shape[1], dataset.outputs
    if wish.widths is None:
        architecture = chain_of(_found(_folder(wish.project or Path())))
        return architecture.widths(features, classes), architecture.activation
    if (wish.widths[0], wish.widths[-1]) != (features, classes):
        hidden = "".join(f"{width}," for width in wish.widths[1:-1])
        raise InputError(
            f"{wish.data} has {features} features and {classes} classes, and --shape begins with "
            f"{wish.widths[0]} and ends with {wish.widths[-1]}: give {features},{hidden}{classes}"
        )
    return wish.widths, wish.activation


def _found(folder: Path) -> Network:
    """Return the architecture that a build has chosen."""
    path = folder / STATE_FOLDER / f"{Front.kind}.json"
    if not path.is_file():
        raise InputError(
            f"{folder} has no architecture yet: run evener build {folder}, which searches one, or "
            "give --shape and --data"
        )
    return load(path, Front).value.architecture


def _folder(project: Path) -> Path:
    return project.parent if project.name == FILE_NAME else project


def _rows(dataset: "Dataset", wish: TrainingWish) -> "Rows":
    from evener.train.over_ranks import Rows
    from evener.train.scaling import Scaling

    features, labels = dataset.rows("train")
    test_features, test_labels = dataset.rows("test")
    scaling = Scaling.of(features, wish.who_sees)
    return Rows(
        inputs=scaling.apply(features),
        wanted=np.eye(len(dataset.classes), dtype=np.float32)[labels],
        test_inputs=scaling.apply(test_features),
        test_labels=test_labels,
        scaling=scaling,
    )


def _random_rows(widths: tuple[int, ...], batch: int, seed: int) -> "Rows":
    from evener.train.over_ranks import Rows

    rng = np.random.default_rng(seed)
    return Rows(
        inputs=rng.standard_normal((batch, widths[0]), np.float32),
        wanted=rng.random((batch, widths[-1]), np.float32),
    )


def _check_checkpoint(folder: Path, *, resume: bool) -> None:
    from evener.train.checkpoint import newest

    check_place(folder)
    found = newest(folder)
    if found is not None and not resume:
        raise InvalidFileError(
            f"{folder} holds the checkpoint {found.name}: add --resume to go on from it, or name "
            "another folder",
            path=str(folder),
        )
