"""The interface of sklearn-crfsuite, implemented by tagwright: ``from tagwright.compat import sklearn_crfsuite``."""

from tagwright.compat.sklearn_crfsuite import metrics
from tagwright.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF", "metrics"]
