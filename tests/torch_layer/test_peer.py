"""The layer gives pytorch-crf's numbers."""

import pytest
import torch
from support.torch_batches import both, draw_batch

REDUCTIONS = ["sum", "mean", "token_mean", "none"]


def gradients(crf, emissions, tags, mask, reduction, weights):
    leaf = emissions.clone().requires_grad_()
    crf.zero_grad()
    value = crf(leaf, tags, mask, reduction)
    (value * weights).sum().backward()
    own = [leaf, crf.start_transitions, crf.end_transitions, crf.transitions]
    return value.detach(), [torch.zeros_like(each) if each.grad is None else each.grad for each in own]


def close(found, right, within):
    torch.testing.assert_close(found.to(right.dtype), right, rtol=within, atol=within)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_log_likelihood_gradients_and_decoding_on_hundreds_of_shapes(dtype):
    generator = torch.Generator().manual_seed(17)
    within = 1e-5 if dtype == torch.float32 else 1e-11
    for n in range(200):
        B, T, L = (int(torch.randint(1, most, (), generator=generator)) for most in (40, 14, [3, 10, 30, 70][n % 4]))
        batch_first = n % 3 > 0
        ours, peer = both(generator, L, batch_first=batch_first, scale=[0.1, 1.0, 3.0][n % 3], dtype=dtype)
        ours.threads = 1 + n % 2
        emissions, tags, mask = draw_batch(generator, B, T, L, scale=[0.5, 2.0, 8.0][n // 3 % 3], dtype=dtype)
        if not batch_first:
            emissions, tags, mask = (each.transpose(0, 1).contiguous() for each in (emissions, tags, mask))
        reduction = REDUCTIONS[n % 4]
        weights = torch.randn(B if reduction == "none" else (), generator=generator, dtype=torch.float64).to(dtype)
        # In single precision the truth is the peer's in double.
        wide = [each.double() for each in (emissions, weights)]
        value, found = gradients(ours, emissions, tags, mask, reduction, weights)
        right, expected = gradients(peer.double(), wide[0], tags, mask, reduction, wide[1])
        size = max(1.0, float(right.abs().max()))
        close(value / size, right / size, within)
        for own, other in zip(found, expected, strict=True):
            largest = max(1.0, float(other.abs().max()))
            close(own / largest, other / largest, within)
        assert ours.decode(emissions, mask) == peer.decode(emissions.double(), mask)


def test_a_state_dict_of_the_peer_gives_the_same_numbers():
    generator = torch.Generator().manual_seed(1)
    ours, peer = both(generator, 7)
    emissions, tags, _ = draw_batch(generator, 5, 6, 7)
    mask = torch.ones(5, 6, dtype=torch.bool)
    assert {name: tuple(weights.shape) for name, weights in ours.state_dict().items()} == {
        name: tuple(weights.shape) for name, weights in peer.state_dict().items()
    }
    close(ours(emissions, tags), peer(emissions, tags, mask), 1e-5)
    peer.load_state_dict(ours.state_dict())
    assert ours.decode(emissions) == peer.decode(emissions, mask)
    close(ours(emissions, tags, mask.to(torch.uint8)), ours(emissions, tags), 0)


def test_training_ends_where_the_peers_does():
    generator = torch.Generator().manual_seed(2)
    ours, peer = both(generator, 6)
    emissions, tags, mask = draw_batch(generator, 20, 8, 6)
    for crf in (ours, peer):
        optimizer = torch.optim.SGD(crf.parameters(), lr=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            (-crf(emissions, tags, mask, "mean")).backward()
            optimizer.step()
    for name, weights in ours.state_dict().items():
        close(weights, peer.state_dict()[name], 1e-5)
