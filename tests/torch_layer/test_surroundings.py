"""The layer beside what PyTorch's users have: compiled models, forked workers, other threads; and the example."""

import multiprocessing
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from support.torch_batches import draw_batch
from torch import nn

from tagwright.torch import CRF

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torch_tagger.py"


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    crf = CRF(30, batch_first=True, threads=2)
    return crf, *draw_batch(generator, 40, 9, 30)


def answers(crf, emissions, tags, mask):
    leaf = emissions.clone().requires_grad_()
    crf(leaf, tags, mask).backward()
    return leaf.grad, crf.decode(emissions, mask)


def same(found, right):
    return torch.equal(found[0], right[0]) and found[1] == right[1]


def _in_child(connection, batch, right):
    connection.send(same(answers(*batch), right))
    connection.close()


# Python warns of forks while threads run, which PyTorch's own do.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_may_use_a_layer_whose_parent_used_threads(batch):
    right = answers(*batch)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_in_child, args=(theirs, batch, right))
    process.start()
    assert ours.poll(60)
    assert ours.recv()
    process.join()
    assert process.exitcode == 0


class Decoded(torch.utils.data.Dataset):
    """Sentences whose labels the workers of a DataLoader find."""

    def __init__(self, crf, emissions):
        self.crf, self.emissions = crf, emissions

    def __len__(self):
        return len(self.emissions)

    def __getitem__(self, n):
        return torch.tensor(self.crf.decode(self.emissions[n : n + 1])[0])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.slow
def test_workers_of_a_data_loader_may_decode(batch):
    crf, emissions, _, _ = batch
    right = crf.decode(emissions)
    loader = torch.utils.data.DataLoader(Decoded(crf, emissions), batch_size=8, num_workers=2)
    assert torch.cat(list(loader)).tolist() == right


def test_several_threads_may_use_one_layer(batch):
    right, found = answers(*batch), []
    crf, *rest = batch
    threads = [threading.Thread(target=lambda: found.append(crf.decode(rest[0], rest[2]))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [right[1]] * 6


class Model(nn.Module):
    """A layer on top of another one."""

    def __init__(self, crf):
        super().__init__()
        self.out, self.crf = nn.Linear(30, 30), crf

    def forward(self, inputs, tags, mask):
        return -self.crf(self.out(inputs).relu(), tags, mask, reduction="mean")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what PyTorch's own compiler uses
def test_a_compiled_model_gives_the_same_numbers(batch):
    crf, *rest = batch
    torch.manual_seed(1)
    model = Model(crf)
    plain = model(*rest)
    plain.backward()
    expected = [weights.grad.clone() for weights in model.parameters()]
    model.zero_grad()
    compiled = torch.compile(model, backend="eager")(*rest)
    compiled.backward()
    torch.testing.assert_close(compiled, plain)
    for weights, right in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(weights.grad, right)


@pytest.mark.slow
def test_the_example_runs():
    command = [sys.executable, str(EXAMPLE), "--epochs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = dict(re.findall(r"^(tagwright|pytorch-crf|none) +([\d.]+)", done.stdout, flags=re.M))
    assert set(rows) == {"tagwright", "pytorch-crf", "none"}
    # From the same seed, over the same batches.
    assert abs(float(rows["tagwright"]) - float(rows["pytorch-crf"])) < 1
