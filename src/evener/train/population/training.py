"""Train a population: plan its stacks, train each in chunks, and let a callable say who goes on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic

import torch

from evener.errors import InputError
from evener.train.population.chunks import chunks_of, in_halves
from evener.train.population.conv_individual import ConvIndividual
from evener.train.population.convolutional import Convolutional
from evener.train.population.course import Course, Rows, check_rows
from evener.train.population.dense import Dense
from evener.train.population.individual import Individual
from evener.train.population.kinds import Group, Kind, TraineeT
from evener.train.population.optimiser import memories
from evener.train.population.stacked import Stacked, never
from evener.train.population.state import State
from evener.train.population.weights import Weights

Member = Individual | ConvIndividual
GoesOn = Callable[[Sequence[int], Sequence[State]], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a population is trained, and in what numbers.

    Attributes:
        device: such as "cpu" or "cuda".
        dtype: of weights and values.
        chunk: individuals that are trained at a time, at most. If None, dense ones as many as cache
            and memory hold, and convolutional ones as many as a short trial finds quickest; a
            choice by time may change the last bits of what they come to.
    """

    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    chunk: int | None = None


CPU = Place()


def train_population(
    individuals: Sequence[Member],
    rows: Rows,
    course: Course,
    *,
    starts: Sequence[Weights | State | None] | None = None,
    rungs: Sequence[int] = (),
    goes_on: GoesOn | None = None,
    out_of_time: Callable[[], bool] = never,
    place: Place = CPU,
) -> list[State]:
    """Train individuals together, each as if it were alone, to rounding.

    Args:
        individuals: the population, of one kind or several; all have as many inputs, and as many
            outputs.
        rows: what all learn from.
        course: for how long, by which loss.
        starts: weights that individuals begin from, or states that they go on from; what their
            seed draws where None.
        rungs: epochs after which some leave; those that stay are put into fewer stacks.
        goes_on: asked at each rung, with the numbers and states of those that still train; returns
            which of them go on (successive halving, where it keeps the best share of them).
        out_of_time: asked before each step of each chunk; if so, what still trains ends with the
            last epoch that is whole.
        place: where.

    Returns:
        The state of each individual, in their order. What goes wrong with one is in its state, and
        changes no other.

    Raises:
        InputError: individuals or starts that do not fit the rows or one another.
        InvalidDataError: rows that nothing can be learned from.

    Example:
        >>> x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> rows = Rows(x, torch.tensor([[0.0], [1.0], [1.0], [0.0]]))
        >>> population = [Individual(widths=(2, 8, 1), activation="tanh", seed=s) for s in range(8)]
        >>> course = Course(epochs=200, batch=4, loss="binary")
        >>> states = train_population(population, rows, course)
        >>> sum(state.losses[-1] < 0.1 for state in states) > 4
        True
    """
    check_rows(rows, course, individuals)
    if starts is not None and len(starts) != len(individuals):
        raise InputError(f"{len(starts)} starts for {len(individuals)} individuals: give as many")
    here = rows.on(torch.device(place.device), place.dtype)
    states: dict[int, State] = {}
    task = _Task(states, here, course, out_of_time, place)
    dense, conv = by_kind(individuals)
    works = (_Work(Dense(), dense, task), _Work(Convolutional(), conv, task))
    for work in works:
        work.begin(starts or [None] * len(individuals))
    for until in [*_checked(rungs, course.epochs), course.epochs]:
        for work in works:
            work.train(until)
        training = sorted(index for index, one in states.items() if one.status == "training")
        if until < course.epochs and goes_on is not None and training:
            chosen = goes_on(training, [states[index] for index in training])
            for index, stays in zip(training, chosen, strict=True):
                if not stays:
                    message = f"not chosen to go on after {until} of {course.epochs} epochs"
                    states[index] = replace(states[index], status="stopped", message=message)
    for index in [index for index, one in states.items() if one.status == "training"]:
        states[index] = replace(states[index], status="trained")
    return [states[index] for index in range(len(individuals))]


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """What all kinds of individuals have in common, and how far each individual has come."""

    states: dict[int, State]
    rows: Rows
    course: Course
    out_of_time: Callable[[], bool]
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class _Work(Generic[TraineeT]):
    """The individuals of one kind, by their numbers in the population."""

    kind: Kind[TraineeT]
    individuals: Mapping[int, TraineeT]
    task: _Task

    def begin(self, starts: Sequence[Weights | State | None]) -> None:
        """Check and write the states that individuals begin from."""
        for index, one in self.individuals.items():
            self.task.states[index] = self._begun(one, starts[index])

    def train(self, until: int) -> None:
        """Train those that still do until an epoch, and write their states."""
        come: dict[tuple[int, bool], list[int]] = {}
        for index in self.individuals:
            state = self.task.states[index]
            if state.status == "training":
                come.setdefault((state.epochs, bool(state.memory)), []).append(index)
        # Those of one stack take the same steps, so they have come equally far.
        for equal in come.values():
            for group in self.kind.groups([self.individuals[index] for index in equal]):
                members = tuple(equal[one] for one in group.members)
                self._train_group(replace(group, members=members), until)

    def _train_group(self, group: Group[TraineeT], until: int) -> None:
        task = self.task
        try:
            largest = task.place.chunk or group.form.at_once(
                [self.individuals[index] for index in group.members],
                task.course.batch,
                task.place.dtype,
                torch.device(task.place.device),
            )
        except MemoryError as error:
            self._fail(group.members, error)
            return

        def act(members: Sequence[int]) -> list[State]:
            some = [self.individuals[index] for index in members]
            states = [task.states[index] for index in members]
            stacked = Stacked(group.form, some, states, task.rows, task.course)
            return stacked.run(until, task.out_of_time)

        for chunk in chunks_of(group.members, largest):
            for members, come_to in in_halves(chunk, act):
                if isinstance(come_to, MemoryError):
                    self._fail(members, come_to)
                    continue
                for index, state in zip(members, come_to, strict=True):
                    task.states[index] = state

    def _fail(self, members: Sequence[int], error: MemoryError) -> None:
        states = self.task.states
        for index in members:
            message = f"memory does not hold its training: {error}. Make it smaller."
            states[index] = replace(states[index], status="failed", message=message)

    def _begun(self, individual: TraineeT, start: Weights | State | None) -> State:
        if start is None:
            start = self.kind.draw(individual)
        state = start if isinstance(start, State) else State(weights=start)
        if len(state.memory) not in (0, memories(individual)):
            raise InputError(
                f"a state that remembers {len(state.memory)} numbers for each weight, and "
                f"{individual.optimiser} remembers {memories(individual)}: give one of its own"
            )
        for one in (state.weights, *state.memory):
            self.kind.check(individual, one)
        return replace(state, status="training", message="", step=0, layer=0)


def by_kind(
    individuals: Sequence[Member],
) -> tuple[dict[int, Individual], dict[int, ConvIndividual]]:
    """Return the dense individuals and the convolutional ones, by their numbers."""
    dense = {at: one for at, one in enumerate(individuals) if isinstance(one, Individual)}
    conv = {at: one for at, one in enumerate(individuals) if isinstance(one, ConvIndividual)}
    return dense, conv


def _checked(rungs: Sequence[int], epochs: int) -> list[int]:
    if list(rungs) != sorted({one for one in rungs if 0 < one < epochs}):
        raise InputError(
            f"rungs after {list(rungs)} epochs of {epochs}: give rising numbers between 0 and "
            f"{epochs}"
        )
    return list(rungs)
