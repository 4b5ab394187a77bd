"""Loops over slices: the numbers and gradients are torch's, each whole tensor is filled once."""

import weakref

import torch
from torch.overrides import TorchFunctionMode

from regard.watcher.mixers.module_call import Results
from regard.watcher.mixers.slices import MANY


class Names(TorchFunctionMode):
    """Which functions run below another mode."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def recurrence(value, gate):
    """Written into a tensor part by part, one of them read back, some of them never written."""
    out = torch.zeros_like(value)
    state = torch.zeros(())
    for i in range(1, value.shape[1]):
        state = state * gate[:, i] + value[:, i, :]
        out[:, i] = state + 0.5 * out[:, i - 1]
    out[:, 0] = 3.0
    return out.cumsum(1) * out.shape[1]


def gradients(run, value, gate, cotangent):
    value, gate = (x.clone().requires_grad_() for x in (value, gate))
    made = run(value, gate)
    return made.detach(), *torch.autograd.grad(made, (value, gate), cotangent)


def test_a_loop_over_slices_has_torchs_numbers():
    torch.manual_seed(0)
    value, gate, cotangent = (torch.randn(2, 3 * MANY, 5, dtype=torch.float64) for _ in range(3))
    expected = gradients(recurrence, value, gate, cotangent)
    with Names() as below, Results(lambda _, tensor: tensor):
        found = gradients(recurrence, value, gate, cotangent)
    assert below.names.count("unbind") >= 2
    assert "stack" in below.names
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_a_tensor_that_changes_between_slices_is_read_as_it_is():
    def changing(value, gate):
        kept, total = value * 1, torch.zeros(())
        for i in range(2 * MANY):
            total = total * gate[:, i] + kept[:, i]
            if i == 4:
                kept = kept.mul_(2.0)
        return total

    torch.manual_seed(0)
    value, gate = (torch.randn(2, 2 * MANY, 5, dtype=torch.float64) for _ in range(2))
    cotangent = torch.randn(2, 5, dtype=torch.float64)
    expected = gradients(changing, value, gate, cotangent)
    with Results(lambda _, tensor: tensor):
        found = gradients(changing, value, gate, cotangent)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_a_tensor_of_which_few_slices_are_read_is_not_kept():
    kept = []
    with Results(lambda _, tensor: tensor):
        state = torch.ones(2, 5, requires_grad=True)
        for _ in range(MANY):
            made = torch.stack([state[0], state[1]])
            kept.append(weakref.ref(made))
            state = made[:, :] + 1
            made[0] + 1
        del made
        gone = [x() is None for x in kept]  # while the forward still runs
    assert all(gone)
