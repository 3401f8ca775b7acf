"""The sums in PyTorch's operations: they refuse what the native sums refuse, and padding reaches nothing."""

import warnings

import pytest
import torch
from support.torch_batches import draw_batch, draw_weights

from tagwright.torch import CRF


def steps_of(emissions):
    B, T, L = emissions.shape
    return torch.zeros(B, T - 1, L, L)


@pytest.mark.parametrize("kind", ["plain", "stepwise", "native"])
def test_the_same_input_is_refused_on_every_path(kind):
    crf = CRF(3, batch_first=True, native=kind == "native")
    emissions, tags = torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.long)
    more = {"transitions": steps_of(emissions)} if kind == "stepwise" else {}
    for value, text in ((torch.nan, "NaN"), (torch.inf, r"\+inf")):
        wrong = emissions.clone()
        wrong[1, 2, 1] = value
        for call in (lambda wrong=wrong: crf(wrong, tags, **more), lambda wrong=wrong: crf.log_z(wrong, **more)):
            with pytest.raises(ValueError, match=f"sentence 1: the node score of token 2, label 1 is {text}"):
                call()
    forbidden = emissions.clone()
    forbidden[1, 2] = -torch.inf
    with pytest.raises(ValueError, match="sentence 1: no path"):
        crf(forbidden, tags, **more)
    for label in (3, -1):
        wrong = tags.clone()
        wrong[1, 3] = label
        with pytest.raises(ValueError, match=f"sentence 1: token 3 has label {label}, but labels go from 0 to 2"):
            crf(emissions, wrong, **more)
        mask = torch.ones(2, 4, dtype=torch.bool)
        mask[1, 3] = False
        assert torch.isfinite(crf(emissions, wrong, mask, **more))
    with torch.no_grad():
        crf.start_transitions[1] = torch.nan
    with pytest.raises(ValueError, match="start score of label 1 is NaN"):
        crf(emissions, tags, **more)
    with torch.no_grad():
        crf.start_transitions[1] = 0
        crf.transitions[1, 2] = torch.nan
    with pytest.raises(ValueError, match="edge score 1 -> 2 is NaN"):
        crf(emissions, tags, **more)


def test_transitions_of_tokens_are_checked():
    crf = CRF(3, batch_first=True)
    emissions, tags = torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.long)
    steps = steps_of(emissions)
    steps[1, 2, 0, 1] = torch.inf
    with pytest.raises(ValueError, match=r"sentence 1, step 2: the edge score 0 -> 1 is \+inf"):
        crf(emissions, tags, transitions=steps)
    mask = torch.ones(2, 4, dtype=torch.bool)
    mask[1, 3] = False
    assert torch.isfinite(crf(emissions, tags, mask, transitions=steps))


@pytest.mark.parametrize("kind", ["plain", "stepwise", "partial", "smooth", "stepwise smooth"])
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf, -torch.inf, 3e38])
def test_padding_reaches_no_value_and_no_gradient(kind, garbage):
    generator = torch.Generator().manual_seed(1)
    crf = CRF(4, batch_first=True, native=False)
    draw_weights(generator, crf, 1.0)
    emissions, tags, mask = draw_batch(generator, 5, 6, 4, least=0)
    mask[2] = False  # a sentence without tokens
    steps = torch.randn(5, 5, 4, 4, generator=generator)
    allowed = torch.nn.functional.one_hot(tags, 4).bool() | (torch.rand(5, 6, 4, generator=generator) < 0.5)
    smooth = 0.1 if "smooth" in kind else 0.0
    found = []
    for padding in (0.0, garbage):
        leaf = emissions.masked_fill(~mask.unsqueeze(2), padding).requires_grad_()
        edges = steps.masked_fill(~mask[:, 1:, None, None], padding).requires_grad_() if "step" in kind else None
        crf.zero_grad()
        value = crf(leaf, allowed if kind == "partial" else tags, mask, transitions=edges, label_smoothing=smooth)
        value.backward()
        found.append([value.detach(), leaf.grad, *(own.grad.clone() for own in crf.parameters())])
        found[-1] += [] if edges is None else [edges.grad]
    for own, other in zip(*found, strict=True):
        assert torch.isfinite(other).all()
        assert torch.equal(own, other)


def test_no_mask_gives_no_warning():
    crf = CRF(3, batch_first=True, native=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.isfinite(crf(torch.zeros(7, 5, 3), torch.zeros(7, 5, dtype=torch.long)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.uint8, torch.int64])
def test_masks_of_zeros_and_ones(dtype):
    generator = torch.Generator().manual_seed(2)
    crf = CRF(3, batch_first=True)
    emissions, tags, mask = draw_batch(generator, 4, 5, 3, least=0)
    assert torch.equal(crf(emissions, tags, mask.to(dtype)), crf(emissions, tags, mask))
    assert crf.decode(emissions, mask.to(dtype)) == crf.decode(emissions, mask)


def test_a_mask_of_other_numbers_names_the_first():
    crf = CRF(3, batch_first=True)
    mask = torch.ones(2, 4)
    mask[1, 2] = 0.5
    with pytest.raises(ValueError, match=r"token 2 of sentence 1 has 0\.5"):
        crf(torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.long), mask)


@pytest.mark.parametrize("native", [True, False])
def test_function_transforms(native):
    """`torch.func` gives the derivatives that autograd gives, of emissions and of parameters."""
    generator = torch.Generator().manual_seed(3)
    crf = CRF(3, batch_first=True, native=native).double()
    draw_weights(generator, crf, 1.0)
    emissions, tags, mask = draw_batch(generator, 3, 4, 3, dtype=torch.float64, least=0)
    mask[0] = True

    def loss(emissions, tags, mask):
        return -crf(emissions, tags, mask, reduction="token_mean")

    leaf = emissions.clone().requires_grad_()
    loss(leaf, tags, mask).backward()
    torch.testing.assert_close(torch.func.grad(loss)(emissions, tags, mask), leaf.grad)

    def of_parameters(parameters):
        return -torch.func.functional_call(crf, parameters, (emissions, tags, mask, "token_mean"))

    found = torch.func.grad(of_parameters)({name: own.detach() for name, own in crf.named_parameters()})
    for name, own in crf.named_parameters():
        torch.testing.assert_close(found[name], own.grad)
    second = torch.func.jacrev(torch.func.grad(loss))(emissions, tags, mask)
    expected = torch.autograd.functional.hessian(lambda own: loss(own, tags, mask), emissions)
    torch.testing.assert_close(second, expected)
    per_sentence = torch.vmap(lambda own: crf.log_z(own.unsqueeze(0))[0])(emissions)
    torch.testing.assert_close(per_sentence, crf.log_z(emissions))
