"""Muon: orthogonal updates of the size of AdamW's, all matrices of a shape at once."""

import pytest

pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")

import torch

from regard.train.step import Muon, MuonAdamW, orthogonal


@pytest.mark.parametrize("shape", [(3, 24, 24), (2, 16, 48), (2, 48, 16)])
def test_singular_values_come_near_1_and_the_vectors_stay(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    inside = left.transpose(-1, -2) @ orthogonal(matrices) @ right.transpose(-1, -2)
    diagonal = inside.diagonal(dim1=-2, dim2=-1)
    # The quintic's bounds hold from a fiftieth of the norm on; smaller values rise monotonically.
    large = values > 0.02 * values.norm(dim=-1, keepdim=True)
    assert diagonal[large].min() > 0.65
    assert diagonal.max() < 1.25
    torch.testing.assert_close(inside, torch.diag_embed(diagonal), rtol=0, atol=1e-10)


def test_matrices_of_one_shape_move_as_each_would_alone():
    generator = torch.Generator().manual_seed(2)
    starts = [
        torch.randn(s, generator=generator, dtype=torch.float64) for s in [(8, 8)] * 3 + [(8, 4)]
    ]
    gradients = [torch.randn_like(start) for start in starts]

    def moved(numbers):
        own = [starts[number].clone().requires_grad_() for number in numbers]
        muon = Muon(own)
        for _ in range(3):
            for matrix, number in zip(own, numbers, strict=True):
                matrix.grad = gradients[number].clone()
            muon.step()
        return [matrix.detach() for matrix in own]

    for number, together in enumerate(moved(range(4))):
        torch.testing.assert_close(together, moved([number])[0])


def test_the_embedding_and_the_vectors_are_left_to_adamw():
    shapes = {"embedding": (9, 4), "encoder.0.w": (4, 4), "encoder.0.gain": (4,)}
    parameters = {name: torch.ones(shape, requires_grad=True) for name, shape in shapes.items()}
    optimiser = MuonAdamW(parameters)
    for parameter in parameters.values():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    kinds = {name: set(optimiser.state[p]) for name, p in parameters.items()}
    adam = {"step", "exp_avg", "exp_avg_sq"}
    assert kinds == {"embedding": adam, "encoder.0.w": {"momentum"}, "encoder.0.gain": adam}
    optimiser.zero_grad()
    assert all(parameter.grad is None for parameter in parameters.values())
