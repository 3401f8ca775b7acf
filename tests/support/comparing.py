"""Learners with the options that exist only for comparisons, which their constructors do not have."""

import tagwright as tw
from support.flat import crf


def comparing(cls, **options):
    """A learner of this class; options such as dense_edges=True are set by a subclass, which scikit-learn can clone."""
    private = {f"_{name}": options.pop(name) for name in list(options) if hasattr(cls, f"_{name}")}
    own = type(cls.__name__, (cls,), private)
    return crf(**options, cls=own) if issubclass(cls, tw.CRF) else own(**options)
