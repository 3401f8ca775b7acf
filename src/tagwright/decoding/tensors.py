"""Tensors of PyTorch as NumPy arrays, without importing PyTorch."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt


def is_tensor(values: object) -> TypeGuard[Any]:
    """Return whether this is a tensor of PyTorch."""
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(values).__mro__)


def tensor_values(what: str, tensor: Any) -> npt.NDArray[Any]:
    """Return a tensor's values: in place where it lies in the CPU's memory as NumPy's numbers do, else as a copy.

    Gradients do not go through: what is computed from the array knows nothing of them.
    """
    full = tensor.element_size() >= 4 or not tensor.is_floating_point()
    if full and tensor.is_cpu and not tensor.is_sparse and not tensor.is_quantized:
        return tensor.detach().resolve_neg().numpy()  # type: ignore[no-any-return]
    if tensor.is_meta:
        raise ValueError(f"{what} is a tensor on the device 'meta', which holds no numbers")
    plain = tensor.detach()
    if plain.layout != tensor.new_empty(0).to_dense().layout:
        plain = plain.to_dense()
    if plain.is_quantized:
        plain = plain.dequantize()
    if str(plain.dtype).startswith(("torch.bfloat16", "torch.float8", "torch.float16")):
        plain = plain.float()
    return np.asarray(plain.cpu().resolve_neg().numpy())
