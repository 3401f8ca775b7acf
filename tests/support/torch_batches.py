"""Random batches for the CRF layer, and layers with the same weights."""

import warnings

import torch

from tagwright.torch import CRF

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torchcrf


def draw_batch(generator, B, T, L, *, scale=2.0, dtype=torch.float32, least=1):
    """Emissions, tags and a mask, the batch first; every sentence has at least `least` tokens."""
    emissions = torch.randn(B, T, L, generator=generator, dtype=torch.float64) * scale
    lengths = torch.randint(least, T + 1, (B,), generator=generator)
    tags = torch.randint(0, L, (B, T), generator=generator)
    mask = torch.arange(T) < lengths.unsqueeze(1)
    return emissions.to(dtype), tags, mask


def draw_weights(generator, crf, scale=1.0):
    with torch.no_grad():
        for weights in crf.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator, dtype=torch.float64) * scale)


def both(generator, L, *, batch_first=True, scale=1.0, dtype=torch.float32):
    """Our layer and pytorch-crf's with the same weights, by its state_dict."""
    peer = torchcrf.CRF(L, batch_first=batch_first).to(dtype)
    draw_weights(generator, peer, scale)
    ours = CRF(L, batch_first=batch_first).to(dtype)
    ours.load_state_dict(peer.state_dict())
    return ours, peer
