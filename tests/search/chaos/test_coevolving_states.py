"""The short co-evolution that settings of hyperparameters are probed with."""

import numpy as np
import pytest

from evener.search.chaos import coevolving_states
from evener.search.chaos.coevolving_states import HIDDEN, Answer, CoEvolution
from evener.search.chaos.table import PAPER

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 5)).astype(np.float32)
SIDES = (ROWS[:, :2] > 0).astype(np.float32)  # two labels of each row
WANTED: dict[Answer, np.ndarray] = {
    "classes": np.stack([SIDES[:, 0], 1 - SIDES[:, 0]], axis=1),
    "labels": SIDES,
    "numbers": ROWS[:, :2] / np.sqrt(np.mean(ROWS[:, :2] ** 2)),
}
ANSWERS: tuple[Answer, ...] = ("classes", "labels", "numbers")


def probe(answer: Answer, steps: int = 50, seed: int = 0) -> CoEvolution:
    return CoEvolution(ROWS, WANTED[answer], answer, steps, seed)


@pytest.mark.parametrize("answer", ANSWERS)
def test_states_learn_by_their_rates(answer: Answer) -> None:
    states = np.array([[1e-4, 0.0, 0.0, 0.5], [0.3, 0.5, 0.0, 0.5], [0.3, 0.5, 1.0, 0.5]])

    losses = probe(answer)(states)

    assert losses.shape == (3, 6)
    assert len(set(losses[:, 0])) == 1
    assert losses[0, -1] == pytest.approx(losses[0, 0], rel=0.3)
    assert losses[1, -1] < 0.8 * losses[1, 0]
    assert losses[2, -1] > losses[1, -1]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_step_is_gradient_descent_on_the_loss_that_is_told(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="differentiates, which needs the extra 'train'")
    losses_of = {
        "classes": torch.nn.functional.cross_entropy,
        "labels": lambda sums, wanted: (
            torch.nn.functional.binary_cross_entropy_with_logits(sums, wanted) * wanted.shape[1]
        ),
        "numbers": lambda sums, wanted: (
            torch.nn.functional.mse_loss(sums, wanted) * wanted.shape[1] / 2
        ),
    }
    # Of two networks the better one is parent of both, and all rows are in a step and a look.
    monkeypatch.setattr(coevolving_states, "NETWORKS", 2)
    monkeypatch.setattr(coevolving_states, "GENERATION", 1)
    monkeypatch.setattr(coevolving_states, "SIZE", len(ROWS))
    monkeypatch.setattr(coevolving_states, "JUDGED", len(ROWS))
    rng = np.random.default_rng(3)
    first = torch.from_numpy(rng.standard_normal((2, 5, HIDDEN), np.float32) / np.sqrt(5))
    second = torch.from_numpy(rng.standard_normal((2, HIDDEN, 2), np.float32) / np.sqrt(HIDDEN))
    if answer == "numbers":
        second = second * 0.1
    rows, wanted = torch.from_numpy(ROWS), torch.from_numpy(WANTED[answer])
    before, after = [], []
    for one, other in zip(first.float(), second.float(), strict=True):
        one, other = one.requires_grad_(), other.requires_grad_()  # noqa: PLW2901 - the same array
        loss = losses_of[answer](torch.tanh(rows @ one) @ other, wanted)
        loss.backward()
        moved = torch.tanh(rows @ (one - 0.1 * one.grad)) @ (other - 0.1 * other.grad)
        before.append(loss.item())
        after.append(losses_of[answer](moved, wanted).item())

    found = probe(answer, steps=1, seed=3)(np.array([[0.1, 0.0, 0.0, 0.0]]))

    better = int(np.argmin(before))
    assert found[0] == pytest.approx([np.mean(before), after[better]], rel=1e-5)


def test_fewer_rows_than_a_step_sees_are_seen_all() -> None:
    states = PAPER.states()[::100]

    losses = CoEvolution(ROWS[:9], WANTED["labels"][:9], "labels", 10, 0)(states)

    assert losses.shape == (7, 2)
    assert np.isfinite(losses[:, 0]).all()


def test_the_same_seed_gives_the_same_bits() -> None:
    states = PAPER.states()[::50]

    assert probe("classes")(states).tobytes() == probe("classes")(states).tobytes()
    assert probe("classes")(states).tobytes() != probe("classes", seed=1)(states).tobytes()
