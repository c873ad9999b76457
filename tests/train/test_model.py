"""The torch module of an architecture."""

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from evener.artifacts.architecture import Architecture
from evener.errors import InputError
from evener.train.head import Head
from evener.train.model import Classifier, predict, standardisation

X_BF = np.random.default_rng(0).normal(5, 3, (50, 4)).astype(np.float32)


def classes(count: int) -> Head:
    return Head("classes", np.eye(count, dtype=np.float32))


def test_standardisation_is_scikit_learns() -> None:
    mean_F, scale_F = standardisation(X_BF)

    expected = StandardScaler().fit(X_BF.astype(np.float64))
    np.testing.assert_allclose(mean_F, expected.mean_, rtol=1e-6)
    np.testing.assert_allclose(scale_F, 1 / expected.scale_, rtol=1e-6)


def test_a_constant_feature_is_centred_and_not_divided_by_zero() -> None:
    x_BF = np.full((5, 1), 0.1, np.float32)

    mean_F, scale_F = standardisation(x_BF)

    assert ((x_BF - mean_F) * scale_F).tolist() == [[0.0]] * 5


def test_words_have_a_length_of_two_together_and_other_features_a_deviation_each() -> None:
    x_BF = np.array([[0, 0, 0], [8, 2, 4], [0, 0, 0], [8, 2, 4]], np.float32)

    mean_F, scale_F = standardisation(x_BF, words=2)

    assert mean_F.tolist() == [4, 1, 2]
    assert scale_F == pytest.approx([1 / 4, 2 * 5**-0.5, 2 * 5**-0.5])


def test_noise_is_in_deviations_of_a_feature_and_of_all_words() -> None:
    x_BF = np.array([[0, 0, 0], [8, 2, 4], [0, 0, 0], [8, 2, 4]], np.float32)

    model = Classifier(Architecture(hidden=(2,)), x_BF, classes(2), seed=0, words=2)

    assert model.per_deviation.tolist() == pytest.approx([1 / 4, 2.5**-0.5, 2.5**-0.5])


def test_values_too_small_for_single_precision_do_not_blow_up() -> None:
    x_BF = np.array([[0.0], [1e-40]], np.float32)

    assert standardisation(x_BF)[1].tolist() == [1.0]


def test_it_computes_what_the_architecture_says() -> None:
    model = Classifier(Architecture(hidden=(6,), activation="tanh"), X_BF, classes(3), seed=1)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}

    y_BH = (X_BF - weights["mean"]) * weights["scale"]
    y_BH = np.tanh(y_BH @ weights["layers.0.weight"].T + weights["layers.0.bias"])
    y_BC = np.exp(y_BH @ weights["layers.2.weight"].T + weights["layers.2.bias"])

    expected = y_BC / y_BC.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predict(model, X_BF), expected, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu", "sigmoid"])
def test_every_activation_of_an_architecture_is_known(activation: str) -> None:
    architecture = Architecture(hidden=(5, 4), activation=activation)  # type: ignore[arg-type] # parametrised as str

    probabilities = predict(Classifier(architecture, X_BF, classes(3), seed=0), X_BF)

    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def test_the_architecture_counts_the_weights_that_there_are() -> None:
    for architecture in (Architecture(hidden=(6, 5)), Architecture(family="linear")):
        model = Classifier(architecture, X_BF, classes(3), seed=0)

        assert sum(p.numel() for p in model.parameters()) == architecture.weights(4, 3)


def test_weights_come_from_the_seed_alone() -> None:
    state = torch.random.get_rng_state()

    one, same, other = (
        Classifier(Architecture(hidden=(3,)), X_BF, classes(2), seed=s) for s in (1, 1, 2)
    )

    assert np.array_equal(predict(one, X_BF), predict(same, X_BF))
    assert not np.array_equal(predict(one, X_BF), predict(other, X_BF))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_forest_is_no_network() -> None:
    with pytest.raises(InputError, match="forest of 9 is no network; it is trained as a baseline"):
        Classifier(Architecture(family="forest", trees=9), X_BF, classes(2), seed=0)
