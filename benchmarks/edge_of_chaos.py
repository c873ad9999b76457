"""What does starting at the edge of chaos buy, and where is that edge?

Usage: python benchmarks/edge_of_chaos.py [--quick] [--fresh] [--minutes 25] [--seeds 10]
       [-o benchmarks/results/edge_of_chaos]

Writes OUT.json, and OUT.md and OUT.html with the paper's figures 2, 5 and 6: where random networks
are critical, by theory and measured; the loss of networks that start ordered, critical, chaotic and
at random, for 5, 20 and 50 hidden layers; where the table of hyperparameters is critical on the
digits; and how far hyperparameters are from the best, at the start and after 50 iterations. What
makes no difference is said to make none. Pieces are kept, so that the same command goes on.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import torch
from edge_of_chaos_nets import GUESSING, Learnt, Rows, draw, make, train
from edge_of_chaos_table import evolve
from numpy.typing import NDArray
from pieces import Pieces
from record import circumstances, write_record
from scipy.stats import mannwhitneyu

from evener.artifacts.edge_of_chaos import Course, Deviation, EdgeOfChaos, Table, Walk
from evener.artifacts.files import digest, file_sha256, write_whole
from evener.data.digits import read_digits
from evener.report.document import document
from evener.report.edge_of_chaos import edge_of_chaos
from evener.report.markup import page, tag
from evener.search import chaos
from evener.search.chaos.activation import Name
from evener.search.chaos.coevolving_states import CoEvolution
from evener.search.chaos.domains import DOMAINS, Domain
from evener.search.chaos.langton import PAPER_CRITICAL
from evener.search.chaos.mean_field import BIAS_VARIANCE, critical_density, gain_for, regime
from evener.search.chaos.propagation import Probe, walk
from evener.search.chaos.table import PAPER, Probed, probe_table
from evener.train.sweet_spot import interval
from evener.workflow.data_edge import table_of

HERE: Final = Path(__file__).parent
KEPT: Final = HERE.parent / ".cache" / "edge_of_chaos"
CODE: Final = ((HERE, "edge_of_chaos*.py"), (Path(chaos.__file__).parent, "*.py"))
DEPTHS: Final = (5, 20, 50)
WIDTH: Final = 48
ROWS: Final = 300
BATCH: Final = 50
EPOCHS: Final = 200
LOOKS: Final = (0, 1, 2, 5, 10, 20, 50, 100, 200)
RATES: Final = (0.1, 0.03, 0.01, 0.003, 0.001)
TRIAL_EPOCHS: Final = 10
TRIAL_SEEDS: Final = (1001, 1002, 1003, 1004)  # other networks than those that are shown
STEPS: Final = 50
ITERATIONS: Final = 50
UNLIKELY: Final = 0.01
KINDS: Final[tuple[tuple[Name, float], ...]] = (
    ("tanh", 2.240),
    ("tanh", 1.999),
    ("relu", 2 / 0.786),
    ("relu", 2 / 0.881),
    ("sigmoid", 130.0),
)


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """Networks of one depth.

    Attributes:
        courses: by domain.
        ends: loss of each network at the end, by domain.
    """

    courses: list[Course]
    ends: dict[str, list[float]]


class Evolved(msgspec.Struct, frozen=True, kw_only=True):
    """A table, and hyperparameters that evolved over it.

    Attributes:
        table: what it is like.
        deviations: by domain.
        ends: mean absolute deviation of each run at the end, by domain.
    """

    table: Table
    deviations: list[Deviation]
    ends: dict[str, list[float]]


@dataclass(frozen=True)
class Sizes:
    """How much is done: less by --quick."""

    seeds: int
    depths: Sequence[int] = DEPTHS
    epochs: int = EPOCHS
    looks: Sequence[int] = LOOKS
    rates: Sequence[float] = RATES
    networks: int = 2
    width: int = 400


def main(arguments: Sequence[str] | None = None) -> int:
    """Make every piece that there is time for, and write what was found."""
    options = read_options(arguments)
    sizes = Sizes(options.seeds)
    if options.quick:
        sizes = Sizes(options.seeds, (5,), 2, (0, 1, 2), (0.1, 0.01), 1, 100)
    code = digest(
        [file_sha256(path) for folder, files in CODE for path in sorted(folder.glob(files))]
    )
    pieces = Pieces(
        options.kept, time.monotonic() + 60 * options.minutes, fresh=options.fresh, code=code
    )
    torch.set_num_threads(1)  # so that others who use the machine cost time in proportion only
    walks = pieces.get("connectivity", list[Walk], partial(connectivity, sizes), sizes=repr(sizes))
    evolved = pieces.get("hyperparameters", Evolved, partial(table, sizes), sizes=repr(sizes))
    trained = [
        piece
        for depth in sizes.depths
        for piece in [
            pieces.get(f"depth {depth}", Trained, partial(learn, depth, sizes), sizes=repr(sizes))
        ]
        if piece is not None
    ]
    found = EdgeOfChaos(
        paper=dict(PAPER_CRITICAL),
        walks=tuple(walks or ()),
        courses=tuple(course for one in trained for course in one.courses),
        tables=(evolved.table,) if evolved else (),
        deviations=tuple(evolved.deviations) if evolved else (),
        verdicts=tuple(verdicts(walks or [], trained, evolved)),
    )
    write(options.out, found, pieces.missing)
    print(f"wrote {options.out}.md, .html and .json; missing: {pieces.missing or 'nothing'}")
    return int(pieces.out_of_time)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="small networks, few epochs: to see that it runs")
    add("--fresh", action="store_true", help="do again what is kept")
    add("--minutes", type=float, default=25.0, help="begin no piece later")
    add("--seeds", type=int, default=10, help="of each kind of network, and of each evolution")
    add("--kept", type=Path, default=KEPT, help="folder of pieces that are done")
    add("-o", "--out", type=Path, default=HERE / "results" / "edge_of_chaos")
    return parser.parse_args(arguments)


def connectivity(sizes: Sizes) -> list[Walk]:
    """Walk along densities for each kind of network, once for every other seed."""
    made = []
    for name, variance in KINDS:
        bias = BIAS_VARIANCE[name]
        theory = critical_density(name, variance)
        settled = regime(name, gain_for(name, 1.0), bias).variance
        probe = Probe(
            name, variance, bias, width=sizes.width, depth=18, burn_in=3, variance=settled
        )
        densities = np.linspace(theory - 0.2, min(theory + 0.2, 1.0), 7).tolist()
        walked = [
            walk(probe, densities, sizes.networks, np.random.default_rng([seed, 3]))
            for seed in range(max(sizes.seeds // 2, 2))
        ]
        chi = np.exp(np.mean([np.log([one for _, one in each.chi]) for each in walked], axis=0))
        made.append(
            Walk(
                activation=name,
                weight_variance=variance,
                bias_variance=bias,
                theory=theory,
                measured=interval([one.critical for one in walked]),
                chi=tuple(zip(densities, chi.tolist(), strict=True)),
            )
        )
    return made


def read_rows() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the digits in an order of their own, the mean square of a pixel 1."""
    held = read_digits()
    order = np.random.default_rng(20_26).permutation(len(held.features))
    pixels = held.features[order].astype(np.float32)
    pixels /= np.sqrt(np.mean(pixels**2))
    return pixels, np.asarray(held.targets["label"], np.int64)[order]


def learn(depth: int, sizes: Sizes) -> Trained:
    """Train networks of every domain, each with the rate that is best for its domain."""
    pixels, labels = (torch.from_numpy(one) for one in read_rows())
    rows = Rows(pixels[:ROWS], labels[:ROWS], pixels[1200:], labels[1200:])
    rates = choose_rates(depth, sizes, rows)
    seeds = list(range(sizes.seeds))
    found = _run(
        depth,
        [(domain, seed, rates[domain]) for domain in DOMAINS for seed in seeds],
        rows,
        sizes.epochs,
        sizes.looks,
    )
    courses: list[Course] = []
    ends: dict[str, list[float]] = {}
    for at, domain in enumerate(DOMAINS):
        mine = slice(at * sizes.seeds, (at + 1) * sizes.seeds)
        courses.append(
            Course(
                domain=domain,
                depth=depth,
                seeds=sizes.seeds,
                learning_rate=rates[domain],
                epochs=tuple(sizes.looks),
                loss=tuple(interval(one.tolist()) for one in found.loss[:, mine]),
                accuracy=interval(found.accuracy[mine].tolist()),
                diverged=int(found.diverged[mine].sum()),
                gradient=interval(found.gradient[mine].tolist()),
            )
        )
        ends[domain] = found.loss[-1, mine].tolist()
    return Trained(courses=courses, ends=ends)


def choose_rates(depth: int, sizes: Sizes, rows: Rows) -> dict[Domain, float]:
    """Find the rate of each domain by which a few other networks learn most in a few epochs."""
    tried = [
        (domain, seed, rate) for domain in DOMAINS for rate in sizes.rates for seed in TRIAL_SEEDS
    ]
    epochs = min(TRIAL_EPOCHS, sizes.epochs)
    loss = _run(depth, tried, rows, epochs, [epochs]).loss[-1]
    # One that ends worse than guessing says as little as one that diverged.
    means = (
        np.minimum(loss, GUESSING)
        .reshape(len(DOMAINS), len(sizes.rates), len(TRIAL_SEEDS))
        .mean(axis=2)
    )
    return {
        domain: sizes.rates[int(np.argmin(one))] for domain, one in zip(DOMAINS, means, strict=True)
    }


def _run(
    depth: int,
    networks: Sequence[tuple[Domain, int, float]],
    rows: Rows,
    epochs: int,
    looks: Sequence[int],
) -> Learnt:
    starts = [draw(domain, seed) for domain, seed, _ in networks]
    widths = [rows.inputs.shape[1], *[WIDTH] * depth, 10]
    batch = make(starts, widths, [seed for _, seed, _ in networks])
    return train(
        batch, [rate for *_, rate in networks], rows, epochs=epochs, size=BATCH, looks=looks
    )


def table(sizes: Sizes) -> Evolved:
    """Probe the paper's table on the digits, and evolve variants from two domains."""
    pixels, labels = read_rows()
    wanted = np.eye(10, dtype=np.float32)[labels[:1200]]
    probed = probe_table(PAPER, CoEvolution(pixels[:1200], wanted, "classes", STEPS, 0))
    made = table_of(probed, "digits", STEPS)
    starts = {"random": np.arange(len(probed.classes)), "critical": probed.edge()}
    found = {domain: _evolve(probed, domain, of, sizes.seeds) for domain, of in starts.items()}
    return Evolved(
        table=made,
        deviations=[one for one, _ in found.values()],
        ends={domain: ends for domain, (_, ends) in found.items()},
    )


def _evolve(
    probed: Probed, domain: str, starts: NDArray[np.intp], seeds: int
) -> tuple[Deviation, list[float]]:
    runs = [
        evolve(probed, starts, ITERATIONS, np.random.default_rng([seed, 4]))
        for seed in range(seeds)
    ]
    start, after = (np.stack([run[half] for run in runs]) for half in (0, 1))
    far = [np.abs(one).mean(axis=1) for one in (start, after)]  # [runs, hyperparameters]
    spread = [one.std(axis=1).mean(axis=1) for one in (start, after)]
    deviation = Deviation(
        domain=domain,
        iterations=ITERATIONS,
        start=tuple(interval(one.tolist()) for one in far[0].T),
        after=tuple(interval(one.tolist()) for one in far[1].T),
        variants=tuple(
            (tuple(one.tolist()), tuple(other.tolist()))
            for one, other in zip(*runs[0], strict=True)
        ),
        spread_start=interval(spread[0].tolist()),
        spread_after=interval(spread[1].tolist()),
    )
    return deviation, far[1].mean(axis=1).tolist()


def verdicts(
    walks: Sequence[Walk], trained: Sequence[Trained], evolved: Evolved | None
) -> list[str]:
    """Say what was found, null results too, each in a sentence with its figures."""
    said = []
    if walks:
        worst = max(walks, key=lambda one: abs(one.measured.mean - one.theory))
        said.append(
            "Connectivity: measured critical densities are at most "
            f"{abs(worst.measured.mean - worst.theory):.3f} from mean-field theory "
            f"({worst.activation}, weight variance {worst.weight_variance:.4g}). The paper's "
            "0.786 and 0.881 are two points of this law; any other value is one too."
        )
    for one in trained:
        depth = one.courses[0].depth
        said += [
            f"{depth} hidden layers: the loss at the end is {of['critical'].loss[-1]} if networks "
            f"start critical, {of[other].loss[-1]} if {other}; "
            + compared(one.ends["critical"], one.ends[other], "critical", other)
            for of in [{course.domain: course for course in one.courses}]
            for other in ("random", "ordered", "chaotic")
        ]
    if evolved is not None:
        known = " and ".join(f"{value:g}" for value in PAPER_CRITICAL.values())
        said.append(
            f"Hyperparameters, {evolved.table.data}: λ is critical at "
            f"{evolved.table.critical:.3f}; the paper says {known}, of other data, and not how."
        )
        said.append(
            f"Hyperparameters after {ITERATIONS} iterations, mean deviation from the best: "
            f"{interval(evolved.ends['critical'])} if variants start at the edge, "
            f"{interval(evolved.ends['random'])} if at random; "
            + compared(evolved.ends["critical"], evolved.ends["random"], "critical", "random")
        )
    return said


def compared(ours: Sequence[float], theirs: Sequence[float], name: str, other: str) -> str:
    """Say whether one is lower than the other, as far as so many seeds can tell."""
    p = float(mannwhitneyu(ours, theirs).pvalue)
    if p >= UNLIKELY:
        return f"no difference that {len(ours)} seeds can tell (Mann-Whitney, p = {p:.2g})."
    lower = name if np.median(ours) < np.median(theirs) else other
    return f"{lower} is lower (Mann-Whitney, p = {p:.2g})."


def write(out: Path, found: EdgeOfChaos, missing: Sequence[str]) -> None:
    """Write the record, the page and the verdicts."""
    title = "Starting at the edge of chaos"
    settings = {
        "width": WIDTH,
        "rows": ROWS,
        "batch": BATCH,
        "rates": RATES,
        "trial_epochs": TRIAL_EPOCHS,
    }
    write_record(
        out.with_suffix(".json"), {"settings": settings, "found": found, "missing": missing}
    )
    about = circumstances()
    told = f"{about['command']}; {about['date']}, commit {about['commit']}; {about['machine']}"
    body = [tag("h1", title), tag("p", told), *edge_of_chaos(found)]
    body += [tag("p", f"Missing: {one}") for one in missing]
    write_whole(out.with_suffix(".html"), page(document(title, *body)).encode())
    lines = [f"# {title}", "", told, "", *(f"- {one}" for one in found.verdicts)]
    lines += ["", *(f"- missing: {one}" for one in missing)]
    write_whole(out.with_suffix(".md"), ("\n".join(lines).rstrip() + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
