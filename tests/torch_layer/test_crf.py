"""The CRF layer against enumeration, finite differences and its own plain sums."""

import copy
import pickle

import numpy as np
import pytest
import torch
from support.brute_force import Case, all_paths
from support.sums import enumerated
from support.torch_batches import draw_batch, draw_weights

import tagwright as tw
from tagwright.torch import CRF


def cases_of(crf, emissions, lengths):
    """Each sentence of a batch as brute force takes it."""
    start, stop = (own.detach().double().numpy() for own in (crf.start_transitions, crf.end_transitions))
    matrix = crf._matrix(torch.float64).detach().numpy()
    for own, length in zip(emissions.double().numpy(), lengths, strict=True):
        steps = np.broadcast_to(matrix, (max(length - 1, 0), *matrix.shape))
        yield Case(own[:length], None, None, steps, start, stop)


def draw(generator, L, B=6, T=4, edges="dense", dtype=torch.float32, scale=1.0, **options):
    crf = CRF(L, batch_first=True, edges=edges, **options).to(dtype)
    draw_weights(generator, crf, scale)
    return crf, *draw_batch(generator, B, T, L, dtype=dtype, least=0)


def some_pairs(L, share=0.4, seed=0):
    return np.nonzero(np.random.default_rng(seed).random((L, L)) < share)


@pytest.mark.parametrize("edges", ["dense", "pairs"])
@pytest.mark.parametrize("L", [1, 2, 5])
def test_everything_against_enumeration(L, edges):
    generator = torch.Generator().manual_seed(L)
    for n in range(10):
        pairs = "dense" if edges == "dense" else some_pairs(L, seed=n)
        crf, emissions, tags, mask = draw(generator, L, edges=pairs, scale=[0.5, 3.0][n % 2])
        lengths = mask.sum(1).tolist()
        if n % 3 == 0 and L > 1:
            emissions[torch.rand(emissions.shape, generator=generator) < 0.2] = -torch.inf
            emissions[:, :, 0] = 0.5
        values, log_z = crf(emissions, tags, mask, "none"), crf.log_z(emissions, mask)
        marginals = crf.marginals(emissions, mask)
        best = crf.decode(emissions, mask, k=4)
        decoded = crf.decode(emissions, mask)
        for b, case in enumerate(cases_of(crf, emissions, lengths)):
            truth, paths = enumerated(case), all_paths(case)
            T = lengths[b]
            by_labels = {labels: score for score, labels in paths}
            right = by_labels.get(tuple(tags[b, :T].tolist()), -np.inf)
            assert log_z[b].item() == pytest.approx(truth.log_z, rel=1e-5, abs=1e-5)
            assert values[b].item() == pytest.approx(right - truth.log_z, rel=1e-5, abs=1e-5)
            np.testing.assert_allclose(marginals[b, :T], truth.nodes, atol=2e-6)
            assert (marginals[b, T:] == 0).all()
            assert by_labels[tuple(decoded[b])] == pytest.approx(paths[0][0], rel=1e-6)
            some = [score for score, _ in paths[:4]]
            assert best.scores[b, : len(some)].tolist() == pytest.approx(some, rel=1e-6)
            assert [by_labels[tuple(labels)] for labels in best.labels[b]] == pytest.approx(some, rel=1e-6)
            expected = np.exp(np.array(some) - truth.log_z)
            np.testing.assert_allclose(best.probabilities[b, : len(some)], expected, rtol=1e-4)
            assert (best.probabilities[b, len(some) :] == 0).all()


@pytest.mark.parametrize("edges", ["dense", "pairs"])
@pytest.mark.parametrize("reduction", ["sum", "mean", "token_mean", "none"])
def test_first_and_second_derivatives_against_finite_differences(edges, reduction):
    generator = torch.Generator().manual_seed(3)
    pairs = "dense" if edges == "dense" else some_pairs(3)
    crf, emissions, tags, mask = draw(generator, 3, B=3, T=3, edges=pairs, dtype=torch.float64)

    def value(emissions, start, stop, transitions):
        own = dict(
            zip(("start_transitions", "end_transitions", "transitions"), (start, stop, transitions), strict=True)
        )
        return torch.func.functional_call(crf, own, (emissions, tags, mask, reduction))

    inputs = [emissions, *(weights.detach().clone() for weights in crf.parameters())]
    for each in inputs:
        each.requires_grad_()
    assert torch.autograd.gradcheck(value, inputs)
    assert torch.autograd.gradgradcheck(value, inputs)


@pytest.mark.parametrize("kind", ["log_z", "partial", "smooth", "stepwise"])
def test_derivatives_of_the_other_values(kind):
    generator = torch.Generator().manual_seed(4)
    crf, emissions, tags, mask = draw(generator, 3, B=3, T=3, dtype=torch.float64)
    allowed = torch.rand(3, 3, 3, generator=generator) < 0.5
    allowed[..., 1] = True
    steps = torch.randn(3, 2, 3, 3, generator=generator, dtype=torch.float64, requires_grad=True)

    def value(emissions, *steps):
        match kind:
            case "log_z":
                return crf.log_z(emissions, mask)
            case "partial":
                return crf(emissions, allowed, mask, "mean")
            case "smooth":
                return crf(emissions, tags, mask, "mean", label_smoothing=0.1)
        return crf(emissions, tags, mask, transitions=steps[0])

    inputs = (emissions.requires_grad_(), steps) if kind == "stepwise" else (emissions.requires_grad_(),)
    assert torch.autograd.gradcheck(value, inputs)
    assert torch.autograd.gradgradcheck(value, inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("edges", ["dense", "pairs"])
def test_plain_sums_equal_the_native_ones(edges, dtype):
    generator = torch.Generator().manual_seed(5)
    within = 1e-5 if dtype == torch.float32 else 1e-10
    for n in range(12):
        L = [2, 9, 40][n % 3]
        pairs = "dense" if edges == "dense" else some_pairs(L, 0.1, n)
        crf, emissions, tags, mask = draw(generator, L, B=17, T=7, edges=pairs, dtype=dtype, scale=[1, 4][n % 2])
        allowed = torch.nn.functional.one_hot(tags, L).bool() | (torch.rand(17, 7, L, generator=generator) < 0.3)
        for given in (tags, allowed):
            found = []
            for crf.native in (True, False):
                crf.zero_grad()
                leaf = emissions.clone().requires_grad_()
                value = crf(leaf, given, mask)
                value.backward()
                found.append([value.detach(), leaf.grad, *(weights.grad.clone() for weights in crf.parameters())])
            for own, other in zip(*found, strict=True):
                largest = max(1.0, float(other.abs().amax()) if other.numel() else 0.0)
                torch.testing.assert_close(own / largest, other / largest, rtol=within, atol=within)


def test_partial_labels_are_sums_over_what_they_allow():
    generator = torch.Generator().manual_seed(6)
    crf, emissions, tags, mask = draw(generator, 4)
    lengths = mask.sum(1).tolist()
    allowed = torch.rand(6, 4, 4, generator=generator) < 0.5
    allowed.scatter_(2, tags.unsqueeze(2), True)
    values = crf(emissions, allowed, mask, "none")
    for b, case in enumerate(cases_of(crf, emissions, lengths)):
        shares = [
            np.exp(score - enumerated(case).log_z)
            for score, labels in all_paths(case)
            if all(allowed[b, t, y] for t, y in enumerate(labels))
        ]
        assert values[b].exp().item() == pytest.approx(sum(shares), rel=1e-5)
    single = torch.nn.functional.one_hot(tags, 4).bool()
    torch.testing.assert_close(crf(emissions, single, mask), crf(emissions, tags, mask), rtol=1e-5, atol=1e-5)
    everything = torch.ones_like(single)
    torch.testing.assert_close(crf(emissions, everything, mask), torch.tensor(0.0), rtol=0, atol=1e-5)
    nothing = single.clone()
    nothing[4, 0] = False
    mask[4, 0] = True
    with pytest.raises(ValueError, match="sentence 4: no path"):
        crf(emissions, nothing, mask)


def test_label_smoothing_is_the_expected_score_of_a_mixture():
    generator = torch.Generator().manual_seed(7)
    crf, emissions, tags, mask = draw(generator, 3)
    plain, smooth = crf(emissions, tags, mask, "none"), crf(emissions, tags, mask, "none", label_smoothing=0.25)
    for b, case in enumerate(cases_of(crf, emissions, mask.sum(1).tolist())):
        usual = np.mean([score for score, _ in all_paths(case)]) - enumerated(case).log_z
        assert smooth[b].item() == pytest.approx(0.75 * plain[b].item() + 0.25 * usual, rel=1e-5, abs=1e-5)


def test_transitions_that_depend_on_the_token():
    generator = torch.Generator().manual_seed(8)
    crf, emissions, tags, mask = draw(generator, 3)
    steps = torch.randn(6, 3, 3, 3, generator=generator)
    values, best = crf(emissions, tags, mask, "none", transitions=steps), crf.decode(emissions, mask, transitions=steps)
    marginals = crf.marginals(emissions, mask, transitions=steps)
    kbest = crf.decode(emissions, mask, transitions=steps, k=2)
    for b, case in enumerate(cases_of(crf, emissions, lengths := mask.sum(1).tolist())):
        n = lengths[b]
        own = case._replace(steps=case.steps + steps[b, : max(n - 1, 0)].double().numpy())
        truth, paths = enumerated(own), all_paths(own)
        right = {labels: score for score, labels in paths}[tuple(tags[b, :n].tolist())]
        assert values[b].item() == pytest.approx(right - truth.log_z, rel=1e-5, abs=1e-5)
        assert tuple(best[b]) == paths[0][1]
        assert kbest.probabilities[b, 0].item() == pytest.approx(np.exp(paths[0][0] - truth.log_z), rel=1e-4)
        np.testing.assert_allclose(marginals[b, :n], truth.nodes, atol=1e-6)


@pytest.mark.parametrize("edges", ["dense", "pairs"])
def test_constraints_hold_in_sums_and_answers(edges):
    generator = torch.Generator().manual_seed(16)
    labels = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    rules = tw.Constraints(labels, scheme="BIO", forbid=[("B-X", "B-Y")], stop=["O", "I-X", "B-Y"])
    for _ in range(5):
        pairs = "dense" if edges == "dense" else some_pairs(5)
        crf, emissions, _, mask = draw(generator, 5, edges=pairs, constraints=rules)
        emissions.requires_grad_()
        log_z = crf.log_z(emissions, mask)
        log_z.sum().backward()
        assert torch.isfinite(crf.transitions.grad).all()
        decoded, marginals = crf.decode(emissions, mask), crf.marginals(emissions, mask)
        start, stop = (own.detach().numpy() for own in crf._ends(torch.float64))
        assert np.isinf(start).tolist() == [False, False, True, False, True]
        assert np.isinf(stop).tolist() == [False, True, False, False, True]
        for b, case in enumerate(cases_of(crf, emissions.detach(), lengths := mask.sum(1).tolist())):
            own, n = case._replace(start=start, stop=stop), lengths[b]
            truth, paths = enumerated(own), all_paths(own)
            assert log_z[b].item() == pytest.approx(truth.log_z, rel=1e-5, abs=1e-5)
            np.testing.assert_allclose(marginals[b, :n], truth.nodes, atol=2e-6)
            np.testing.assert_allclose(emissions.grad[b, :n], truth.nodes, atol=2e-6)
            assert tuple(decoded[b]) == paths[0][1]
        with pytest.raises(ValueError, match=r"sentence 1: the tag of token 1, 4, breaks the constraints"):
            crf(emissions[:2, :2], torch.tensor([[1, 2], [1, 4]]))
        with pytest.raises(ValueError, match=r"sentence 0: the tag of token 0, 2, breaks the constraints"):
            crf(emissions[:2, :2], torch.tensor([[2, 2], [0, 0]]))
        assert torch.isfinite(crf(emissions[:2, :2], torch.tensor([[1, 2], [0, 3]])))
    with pytest.raises(ValueError, match="sees no words"):
        CRF(2, constraints=tw.Constraints(["A", "B"], words={"a": ["A"]}))
    with pytest.raises(ValueError, match="for 5 labels, but num_tags is 4"):
        CRF(4, constraints=rules)
    with pytest.raises(ValueError, match="every labelling to be possible"):
        crf(emissions[:2, :2], torch.tensor([[1, 2], [0, 3]]), label_smoothing=0.1)


def test_sparse_sums_keep_what_the_rule_keeps():
    generator = torch.Generator().manual_seed(9)
    keep = tw.KeepSize(3)
    crf, emissions, tags, mask = draw(generator, 8, pruning=keep, dtype=torch.float64)
    emissions.requires_grad_()
    value = crf.log_z(emissions, mask)
    value.sum().backward()
    edges = tw.Edges(*(own.detach().numpy() for own in (crf.transitions, crf.start_transitions, crf.end_transitions)))
    for b, n in enumerate(mask.sum(1).tolist()):
        one = tw.marginals(emissions[b, :n].detach(), edges, keep)
        assert value[b].item() == pytest.approx(one.log_z)
        np.testing.assert_allclose(emissions.grad[b, :n], one.nodes, atol=1e-12)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(crf(emissions, tags, mask), emissions, create_graph=True)


def test_entropy_and_samples():
    generator = torch.Generator().manual_seed(15)
    crf, emissions, _, mask = draw(generator, 3, B=3)
    mask[0] = True
    entropy, drawn = crf.entropy(emissions, mask), crf.sample(emissions, 2000, mask, seed=3)
    assert drawn.shape == (3, 2000, 4)
    assert torch.equal(drawn, crf.sample(emissions, 2000, mask, seed=3))
    assert not torch.equal(drawn, crf.sample(emissions, 2000, mask, seed=4))
    for b, case in enumerate(cases_of(crf, emissions, lengths := mask.sum(1).tolist())):
        truth, n = enumerated(case), lengths[b]
        shares = np.exp(np.array([score for score, _ in all_paths(case)]) - truth.log_z)
        assert entropy[b].item() == pytest.approx(-(shares * np.log(shares)).sum(), rel=1e-4, abs=1e-5)
        assert (drawn[b, :, n:] == -1).all()
        often = torch.nn.functional.one_hot(drawn[b, :, :n], 3).double().mean(0)
        np.testing.assert_allclose(often, truth.nodes, atol=0.05)


def test_half_precision_is_summed_as_single():
    generator = torch.Generator().manual_seed(10)
    crf, emissions, tags, mask = draw(generator, 5)
    for dtype in (torch.float16, torch.bfloat16):
        low = emissions.to(dtype).requires_grad_()
        value = crf(low, tags, mask)
        value.backward()
        assert value.dtype == torch.float32
        assert low.grad.dtype == dtype
        torch.testing.assert_close(value, crf(low.detach().float(), tags, mask))
        assert crf.decode(low, mask) == crf.decode(low.detach().float(), mask)
        edges = torch.zeros(5, 5, dtype=dtype)
        assert (
            tw.decode(low[0], edges).paths[0].score == tw.decode(low[0].detach().float().numpy(), edges).paths[0].score
        )


def test_scores_far_apart_and_forbidden_transitions():
    """What single precision cannot hold is summed in double, or with logarithms."""
    generator = torch.Generator().manual_seed(11)
    for n in range(20):
        crf, emissions, _, mask = draw(generator, 4, scale=[1.0, 50.0, 500.0][n % 3])
        emissions = emissions * [1.0, 100.0][n // 3 % 2]
        with torch.no_grad():
            crf.transitions[torch.rand(4, 4, generator=generator) < 0.3] = -torch.inf
            crf.transitions.fill_diagonal_(0.5)
        emissions.requires_grad_()
        log_z = crf.log_z(emissions, mask)
        log_z.sum().backward()
        for b, case in enumerate(cases_of(crf, emissions.detach(), lengths := mask.sum(1).tolist())):
            truth = enumerated(case)
            assert log_z[b].item() == pytest.approx(truth.log_z, rel=1e-5, abs=1e-4)
            np.testing.assert_allclose(emissions.grad[b, : lengths[b]], truth.nodes, atol=1e-5)
        assert torch.isfinite(crf.transitions.grad).all()


def test_bad_input_is_refused():
    crf = CRF(3, batch_first=True)
    emissions, tags = torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.long)
    mask = torch.ones(2, 4, dtype=torch.bool)
    holes, wrong = mask.clone(), tags.clone()
    holes[1, 2], wrong[1, 3] = False, 3
    nan, forbidden = emissions.clone(), emissions.clone()
    nan[1, 2, 0], forbidden[1, 2] = torch.nan, -torch.inf
    for words, call in [
        ("hole: in sentence 1 token 2 is masked and token 3", lambda: crf(emissions, tags, holes)),
        ("hole: in sentence 1 token 2 is masked and token 3", lambda: crf.decode(emissions, holes)),
        ("sentence 1: token 3 has label 3, but labels go from 0 to 2", lambda: crf(emissions, wrong)),
        ("sentence 1: the node score of token 2, label 0 is NaN", lambda: crf(nan, tags)),
        ("sentence 1: the node score of token 2, label 0 is NaN", lambda: crf.decode(nan)),
        ("sentence 1: no path", lambda: crf(forbidden, tags)),
        ("sentence 1: no path", lambda: crf.decode(forbidden)),
        ("three dimensions", lambda: crf(emissions[0], tags)),
        ("for 3 labels, but num_tags is 4", lambda: CRF(4, batch_first=True)(emissions, tags)),
        (r"tags must have shape \(2, 4\)", lambda: crf(emissions, tags[:, :3])),
        (r"boolean tags must have shape \(2, 4, 3\)", lambda: crf(emissions, tags.bool())),
        ("tags must be whole numbers", lambda: crf(emissions, tags.float())),
        (r"mask must have shape \(B, T\) = \(2, 4\)", lambda: crf(emissions, tags, mask[:, :3])),
        ("reduction must be", lambda: crf(emissions, tags, reduction="max")),
        ("floating-point", lambda: crf(emissions.long(), tags)),
        ("label_smoothing must be", lambda: crf(emissions, tags, label_smoothing=1.5)),
        ("transitions must have shape", lambda: crf(emissions, tags, transitions=torch.zeros(2, 4, 3, 3))),
        ("num_tags must be", lambda: CRF(0)),
        ("edges must be", lambda: CRF(3, edges="sparse")),
        ("given twice", lambda: CRF(3, edges=([0, 0], [1, 1]))),
        ("holds no numbers", lambda: tw.decode(torch.zeros(2, 3, device="meta"), torch.zeros(3, 3))),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    with torch.no_grad():
        crf.transitions[1, 2] = torch.nan
    with pytest.raises(ValueError, match="edge score 1 -> 2 is NaN"):
        crf(emissions, tags)


def test_weights_that_change_are_noticed_when_decoding():
    crf = CRF(2, batch_first=True)
    emissions = torch.zeros(1, 3, 2)
    for sign in (1.0, -1.0):
        crf.transitions.data.copy_(torch.tensor([[5.0, -5.0], [-5.0, 5.0]]) * sign)
        (labels,) = crf.decode(emissions)
        assert (labels[0] == labels[1]) == (sign > 0)


def test_layers_are_copied_pickled_and_saved(tmp_path):
    generator = torch.Generator().manual_seed(12)
    for edges in ("dense", some_pairs(5)):
        crf, emissions, tags, mask = draw(generator, 5, edges=edges)
        target = crf(emissions, tags, mask), crf.decode(emissions, mask)
        torch.save(crf.state_dict(), tmp_path / "crf.pt")
        loaded = CRF(5, batch_first=True, edges=edges)
        loaded.load_state_dict(torch.load(tmp_path / "crf.pt"))
        for other in (copy.deepcopy(crf), pickle.loads(pickle.dumps(crf)), loaded):
            assert torch.equal(other(emissions, tags, mask), target[0])
            assert other.decode(emissions, mask) == target[1]
    assert "5 labels" not in repr(crf)
    assert "pairs" in repr(crf)


def test_any_number_of_threads_gives_the_same_bits():
    generator = torch.Generator().manual_seed(13)
    crf, emissions, tags, mask = draw(generator, 60, B=50, T=12)
    found = []
    for threads in (1, 2, 3):
        crf.threads = threads
        leaf = emissions.clone().requires_grad_()
        crf.zero_grad()
        crf(leaf, tags, mask).backward()
        found.append((leaf.grad, crf.transitions.grad.clone(), crf.start_transitions.grad.clone()))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_a_batch_without_sentences_and_one_without_tokens():
    crf = CRF(3, batch_first=True)
    for shape in [(0, 4, 3), (2, 0, 3)]:
        emissions = torch.zeros(shape, requires_grad=True)
        value = crf(emissions, torch.zeros(shape[:2], dtype=torch.long))
        value.backward()
        assert value.item() == 0
        assert emissions.grad.shape == shape
        assert crf.decode(emissions) == [[]] * shape[0]
        assert crf.marginals(emissions).shape == shape


def test_gradients_survive_a_second_pass_backward():
    generator = torch.Generator().manual_seed(14)
    crf, emissions, tags, mask = draw(generator, 4)
    emissions.requires_grad_()
    loss = -crf(emissions, tags, mask, "mean")
    loss.backward(retain_graph=True)
    first = emissions.grad.clone()
    loss.backward()
    torch.testing.assert_close(emissions.grad, 2 * first)


def test_a_pickled_layer_keeps_its_pruning_rule():
    rule = tw.KeepSize(3)
    assert pickle.loads(pickle.dumps(CRF(4, pruning=rule))).pruning == rule
