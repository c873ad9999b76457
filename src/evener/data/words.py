"""Weigh the words of texts by TF-IDF (Salton and Buckley, 1988), as scikit-learn does."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evener.artifacts.encoding import TextColumns
from evener.errors import InvalidDataError, MissingExtraError

_FEWEST_TEXTS: Final = 2  # that a word must stand in
_ROWS_AT_ONCE: Final = 1024


def learn_words(
    columns: tuple[str, ...],
    texts: Sequence[str],
    targets: NDArray[np.float32] | None,
    *,
    most: int,
    run: int = 1,
    where: str,
) -> TextColumns:
    """Choose the words that tell most, and weigh them.

    Args:
        columns: where the texts are from.
        texts: of the training rows.
        targets: a 1 for each class or label of a row, and words are chosen by the chi-squared test
            against them; None, and those are chosen that stand in most texts.
        most: how many words, or runs of words, at most.
        run: most words of a run.
        where: the file, for the error.

    Raises:
        InvalidDataError: no word stands in two texts.
        MissingExtraError: scikit-learn is not installed.
    """
    counter = _vectoriser(run, binary=True, use_idf=False, norm=None, min_df=_FEWEST_TEXTS)
    try:
        there = counter.fit_transform(texts)
    except ValueError as error:  # an empty vocabulary
        raise InvalidDataError(
            f"{where}: no word of '{columns[0]}' stands in {_FEWEST_TEXTS} training rows; name a "
            "column of texts as data.text",
            column=columns[0],
        ) from error
    frequency = np.asarray(there.sum(axis=0)).ravel()
    if targets is None or there.shape[1] <= most:
        merit = frequency
    else:
        from sklearn.feature_selection import chi2

        with np.errstate(divide="ignore", invalid="ignore"):  # a class without training rows
            merit = np.nan_to_num(chi2(there, targets)[0] if _has_both(targets) else frequency)
    words = counter.get_feature_names_out()
    chosen = sorted(np.argsort(-merit, kind="stable")[:most].tolist())
    idf = np.log((1 + len(texts)) / (1 + frequency[chosen])) + 1  # as scikit-learn smooths it
    return TextColumns(
        columns=columns,
        vocabulary=tuple(str(words[place]) for place in chosen),
        idf=tuple(float(f"{weight:.9g}") for weight in idf),
        run=run,
    )


def weigh_words(encoding: TextColumns, texts: Sequence[str], into: NDArray[np.float32]) -> None:
    """Write the weights of the words of some texts, each row of length 1 unless it has none.

    Args:
        encoding: the words.
        texts: one a row.
        into: float32 (rows, words).

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    vectoriser = _vectoriser(encoding.run, vocabulary=list(encoding.vocabulary), sublinear_tf=True)
    vectoriser.idf_ = np.array(encoding.idf)
    for first in range(0, len(texts), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        into[part] = vectoriser.transform(texts[part]).toarray()


def _has_both(targets: NDArray[np.float32]) -> bool:
    """Whether some class is there and not everywhere."""
    return bool((targets.any(axis=0) & ~targets.all(axis=0)).any())


def _vectoriser(run: int, **choices: Any) -> Any:  # noqa: ANN401 - sklearn ships no types
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError("reading texts", extra="train") from error
    return TfidfVectorizer(dtype=np.float32, ngram_range=(1, run), **choices)
