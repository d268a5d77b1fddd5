"""Cases of scikit-learn, which takes arrays of any library under ``array_api_dispatch=True``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import sklearn
from sklearn import decomposition, discriminant_analysis, linear_model, metrics, mixture, naive_bayes, preprocessing
from sklearn.metrics import pairwise

from tests.helpers.tables.case import values, whole
from tests.interop import Foreign, foreign

__all__ = ["CASES"]

X = values(8, 4)
Y = values(6, 4, low=-1.0)
TARGETS = values(8)
CLASSES = np.asarray([0, 1, 2, 0, 1, 2, 1, 0])
PREDICTED = np.asarray([0, 2, 2, 0, 1, 1, 1, 0])
POSITIVE = values(8, low=0.2, high=3.0)


def dispatched(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, dispatched by scikit-learn to the library of the arrays."""

    @wraps(call)
    def with_dispatch(*arrays: Any) -> Any:
        with sklearn.config_context(array_api_dispatch=True):
            return call(*arrays)

    return with_dispatch


def case(name: str, call: Callable[..., Any], *arrays: Any, **fields: Any) -> Foreign:
    return foreign(name, dispatched(call), *arrays, **fields)


def _mixture(kind: str) -> Callable[..., Any]:
    """Means and covariances after a few steps; a full covariance gets its diagonal through a slice."""

    def fitted(x: Any) -> Any:
        model = mixture.GaussianMixture(
            2, covariance_type=kind, init_params="random", random_state=0, max_iter=3, tol=0.0, reg_covar=0.5
        ).fit(x)
        return [model.means_, model.covariances_]

    return fitted


def transformed(make: Callable[[], Any]) -> Callable[..., Any]:
    return lambda x: make().fit(x).transform(x)


def _in_parts(x: Any, y: Any) -> Any:
    return preprocessing.StandardScaler().partial_fit(x).partial_fit(y).transform(x)


def _lda(x: Any, y: Any) -> Any:
    model = discriminant_analysis.LinearDiscriminantAnalysis(n_components=2).fit(x, y)
    return model.decision_function(x)


def _bayes(x: Any, y: Any) -> Any:
    return naive_bayes.GaussianNB().fit(x, y).predict_log_proba(x)


CASES: list[Foreign] = [
    *(
        case(f"metrics.{name}", getattr(metrics, name), TARGETS, values(8, low=-1.0), smooth=False, refused=True)
        for name in (
            "mean_squared_error", "mean_absolute_error", "r2_score", "mean_pinball_loss", "explained_variance_score",
        )
    ),
    case(
        "metrics.mean_tweedie_deviance", lambda a, b: metrics.mean_tweedie_deviance(a, b, power=1.5), POSITIVE,
        POSITIVE[::-1].copy(), smooth=False, refused=True,
    ),
    *(case(f"metrics.{name}", getattr(metrics, name), CLASSES, PREDICTED, smooth=False)
      for name in ("accuracy_score", "zero_one_loss", "confusion_matrix")),
    case("metrics.f1_score", lambda a, b: metrics.f1_score(a, b, average="macro"), CLASSES, PREDICTED, smooth=False),
    case("pairwise.euclidean_distances", lambda x, y: pairwise.euclidean_distances(x, y, squared=True), X, Y),
    *(case(f"pairwise.{name}", getattr(pairwise, name), X, Y)
      for name in ("cosine_similarity", "rbf_kernel", "polynomial_kernel", "sigmoid_kernel")),
    *(case(f"preprocessing.{name}", transformed(getattr(preprocessing, name)), X)
      for name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "PolynomialFeatures")),
    case("preprocessing.StandardScaler-in parts", _in_parts, X, Y),
    case("preprocessing.KernelCenterer", transformed(preprocessing.KernelCenterer), values(4, 4)),
    case("preprocessing.LabelEncoder", lambda y: preprocessing.LabelEncoder().fit_transform(y), whole(8), smooth=False),
    case("decomposition.PCA", lambda x: decomposition.PCA(2, svd_solver="full").fit(x).transform(x) ** 2, X, rtol=1e-6),
    case(
        "linear_model.Ridge", lambda x, y: linear_model.Ridge(solver="svd").fit(x, y).predict(x), X, TARGETS, rtol=1e-8
    ),
    case("discriminant_analysis.LinearDiscriminantAnalysis", _lda, values(8, 3), CLASSES, rtol=1e-6),
    case("naive_bayes.GaussianNB", _bayes, X, CLASSES),
    *(case(f"mixture.GaussianMixture-{kind}", _mixture(kind), X, smooth=False)
      for kind in ("full", "tied", "diag", "spherical")),
]  # fmt: skip
