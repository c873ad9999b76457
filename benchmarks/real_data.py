"""Search real data sets, and hold what was found against the usual models, on their test rows.

Usage: python benchmarks/real_data.py [SETS] [--budget "10 min"] [--only mnist,imdb,...]
       [--minutes 120] [--fresh] [-o benchmarks/results/real_data]

SETS is the folder of data, by default that of EVENER_TEST_DATA; which files it holds stands in
`real_data_sets.py`. Of each set networks are searched with the budget, by the training and the
validation rows alone. Then the best on the validation rows is trained in full, whatever it costs,
and so are the best that random search found with as many evaluations and a network that nobody
searched for. Beside them stand the simple models of every build (linear, forest, boosting); of
these and the search's network the one that is best on the validation rows is recommended. The
networks and the recommended model are trained twice, as a build does it (`train.refit`): without
the validation rows, for what they come to on these, and with them, for the test rows. Last come
scikit-learn's own boosting and multi-layer perceptron, as they come, with the validation rows to
learn from too, since they keep rows back by themselves. Nothing is chosen by test rows. The budget
is that of the search; what the trainings in full, the simple models and scikit-learn's take is not
in it, and is told apart.

Each set is a piece that is kept in `.cache/real_data` with the commit and the load of the machine;
the same command goes on where it was broken off. Writes OUT.json and OUT.md. The exit code is 1
where a bar is missed.
"""

import argparse
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import msgspec
import real_data_page as page
from pieces import Pieces
from real_data_page import EVOLVED, RECOMMENDED, Figure, Measured
from real_data_peers import fit_peers
from real_data_sets import RealSet, named
from record import circumstances, commit, exit_with, write_record
from sections import markdown

from evener import units
from evener.artifacts.architecture import Architecture
from evener.artifacts.files import write_whole
from evener.artifacts.front import Front, Scored
from evener.artifacts.networks import Network
from evener.artifacts.project import DataSection, Project
from evener.data.dataset import Dataset
from evener.errors import InputError
from evener.train.baselines import refit_baseline
from evener.train.fit import train_network
from evener.workflow.learn import Learning
from evener.workflow.recommend import NETWORK, best_family
from evener.workflow.search import pool_of
from evener.workflow.search_setup import spread_of
from evener.workflow.steps import code_version, open_steps

HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "real_data"
RANDOM, FIXED = "random search", "fixed network"
_PACKAGES: Final = ("artifacts", "data", "search", "train", "workflow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every set that there is time for, and write what was found."""
    options = read_options(arguments)
    if options.sets is None:
        raise InputError("no folder of data: name it, or set EVENER_TEST_DATA")
    budget_s = units.parse(options.budget, "time")
    until_s = time.monotonic() + 60 * options.minutes
    code = code_version(*_PACKAGES)
    pieces = Pieces(options.kept, until_s, fresh=options.fresh, code=code)
    wanted = named(options.only.split(",") if options.only else ())
    found = []
    for one in wanted:
        piece = pieces.get(
            one.name,
            Measured,
            partial(measure, one, options.sets, options.kept / one.name, budget_s),
            budget_s=budget_s,
            search=one.search,
            train=one.train,
            trainings=one.trainings,
        )
        if piece is not None:
            found.append(piece)
            print(page.told(piece))
    record: dict[str, Any] = {"sets": found, "missing": pieces.missing}
    write_record(options.out.with_suffix(".json"), record)
    text = markdown(page.sections(found, wanted, pieces.missing, circumstances()))
    write_whole(options.out.with_suffix(".md"), text.encode())
    print(f"wrote {options.out}.md and .json; missing: {pieces.missing or 'nothing'}")
    verdicts = [verdict.holds for one in found for verdict in page.verdicts(one, wanted)]
    return int(not all(verdicts) or pieces.out_of_time)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    folder = os.environ.get("EVENER_TEST_DATA")
    add("sets", nargs="?", type=Path, default=None if folder is None else Path(folder))
    add("--budget", default="10 min", help="of each search")
    add("--only", help="sets, separated by commas; all if left out")
    add("--minutes", type=float, default=120.0, help="begin no set later")
    add("--fresh", action="store_true", help="do again what is kept")
    add("--kept", type=Path, default=KEPT, help="folder of sets that are done")
    add("-o", "--out", type=Path, default=HERE / "results" / "real_data")
    return parser.parse_args(arguments)


def measure(one: RealSet, sets: Path, kept: Path, budget_s: float) -> Measured:
    """Search a set, or each of its folds, and return what its models come to.

    Args:
        one: the set.
        sets: the folder of data.
        kept: folder to work in.
        budget_s: of the search, of all folds together.
    """
    load = os.getloadavg()[0]
    parts = one.parts(sets, kept)
    found = [
        _measured(one, data, sets, kept / f"project-{number}", budget_s / len(parts), load)
        for number, data in enumerate(parts)
    ]
    return found[0] if len(found) == 1 else _mean(found)


def _measured(
    one: RealSet, data: DataSection, sets: Path, folder: Path, budget_s: float, load: float
) -> Measured:
    search = msgspec.structs.replace(one.search, budget=f"{budget_s:g} s")
    project = Project(data=data, search=search, train=one.train)
    with open_steps(folder) as steps:
        learning = Learning(
            folder=sets, project=project, steps=steps, progress=None, pool=pool_of(one.workers)
        )
        facts = learning.data()
        kept = learning.search(facts)
        fitted = learning.baselines(facts)
        simple = fitted.value
        dataset = learning.dataset
    front = kept.value
    figures = []
    for what, network in _networks(front):
        figures.append(_trained(what, network, dataset, project, one.trainings))
        print(page.told_figure(figures[-1]), flush=True)
    figures += [
        Figure(
            what=model.name,
            model=model.name,
            validation={front.metric: model.validation},
            test=model.test,
        )
        for model in simple.models
    ]
    of = {NETWORK if figure.what == EVOLVED else figure.what: figure for figure in figures}
    best = best_family(
        {
            name: of[name].validation[front.metric]
            for name in (*(model.name for model in simple.models), NETWORK)
        }
    )
    figures.append(msgspec.structs.replace(of[best], what=RECOMMENDED, model=best))
    if best != NETWORK and project.train.refit:
        before = next(model for model in simple.models if model.name == best)
        started = time.perf_counter()
        refitted = refit_baseline(
            before, dataset, seed=project.train.seed, class_weight=project.train.class_weight
        )
        figures[-1] = msgspec.structs.replace(
            figures[-1], test=refitted.record.test, took_s=time.perf_counter() - started
        )
    apart_s = {
        "training the evolved network in full": _trained_s(figures[0]),
        "training the others in full": sum(
            _trained_s(figure) for figure in figures if figure.what in (RANDOM, FIXED)
        ),
        "simple models": fitted.made.took_s + (figures[-1].took_s if best != NETWORK else 0.0),
    }
    peers = fit_peers(dataset, seed=project.train.seed)
    figures += peers
    apart_s["scikit-learn's"] = sum(peer.took_s for peer in peers)
    return Measured(
        name=one.name,
        metric=front.metric,
        rows=facts.value.rows,
        features=facts.value.features,
        figures=tuple(figures),
        budget_s=budget_s,
        search_s=kept.made.took_s,
        evaluations=len(front.scored),
        generations=len(front.generations),
        load=(load, os.getloadavg()[0]),
        commit=commit(),
        apart_s=apart_s,
    )


def _networks(front: Front) -> list[tuple[str, Network]]:
    """Return what the search found, what random search did, and what nobody searched for.

    Of either search it is the network that was scored best on the validation rows.
    """
    searched = ((EVOLVED, front.scored), (RANDOM, front.random))
    found = [(what, best.architecture) for what, tried in searched if (best := _best(tried))]
    if front.fixed is not None:
        found.append((FIXED, front.fixed.architecture))
    return found


def _best(tried: Sequence[Scored]) -> Scored | None:
    """Return the network of the highest quality, of equal ones the cheapest."""
    scored = [one for one in tried if one.score.quality is not None]
    return max(scored, key=lambda one: (one.score.quality or 0.0, -one.score.macs), default=None)


def _trained(what: str, network: Network, dataset: Dataset, project: Project, times: int) -> Figure:
    """Train a network in full from several seeds, and return its mean quality.

    What it comes to on the validation rows is of a training without them, that on the test rows of
    one with both, where the project refits networks.
    """
    started = time.perf_counter()
    spread = None if isinstance(network, Architecture) else spread_of(network, project.search)
    sections = [
        msgspec.structs.replace(project.train, seed=project.train.seed + number)
        for number in range(times)
    ]
    chosen_by = [train_network(network, dataset, one.chooses, spread=spread) for one in sections]
    trained, before_s = chosen_by, 0.0
    if project.train.refit:
        before_s = time.perf_counter() - started
        trained = [train_network(network, dataset, one, spread=spread) for one in sections]
    return Figure(
        what=what,
        model=str(network),
        validation=mean_of([one.validation for one in chosen_by]),
        test=mean_of([one.test for one in trained]),
        took_s=(time.perf_counter() - started - before_s) / times,
        before_s=before_s / times,
        trainings=times,
    )


def _trained_s(figure: Figure) -> float:
    return (figure.took_s + figure.before_s) * figure.trainings


def mean_of(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric that all have.

    Example:
        >>> mean_of([{"mae": 1.0, "r2": 0.5}, {"mae": 3.0}])
        {'mae': 2.0}
    """
    common = [name for name in found[0] if all(name in one for one in found)]
    return {name: fmean(one[name] for one in found) for name in common}


def _mean(folds: Sequence[Measured]) -> Measured:
    """Return the mean of folds; models that differ from fold to fold are counted."""
    first = folds[0]
    figures = []
    for place, figure in enumerate(first.figures):
        same = [one.figures[place] for one in folds]
        models = Counter(one.model for one in same).most_common()
        named_ = ", ".join(f"{model} ({count})" for model, count in models)
        figures.append(
            msgspec.structs.replace(
                figure,
                model=models[0][0] if len(models) == 1 else named_,
                validation=mean_of([one.validation for one in same]),
                test=mean_of([one.test for one in same]),
                took_s=fmean(one.took_s for one in same),
                before_s=fmean(one.before_s for one in same),
            )
        )
    return msgspec.structs.replace(
        first,
        figures=tuple(figures),
        folds=len(folds),
        budget_s=sum(one.budget_s for one in folds),
        search_s=sum(one.search_s for one in folds),
        evaluations=sum(one.evaluations for one in folds),
        generations=sum(one.generations for one in folds),
        load=(first.load[0], folds[-1].load[1]),
        apart_s={what: sum(one.apart_s[what] for one in folds) for what in first.apart_s},
    )


if __name__ == "__main__":
    exit_with(main)
