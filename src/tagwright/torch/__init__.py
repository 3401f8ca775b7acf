"""A CRF layer for PyTorch: `tagwright.torch.CRF`, with the interface of pytorch-crf. An optional extra."""

try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise ImportError("tagwright.torch needs PyTorch: pip install 'tagwright[torch]'") from None

from tagwright.torch.crf import CRF, KBest

__all__ = ["CRF", "KBest"]
