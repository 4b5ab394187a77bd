"""The transformer that the page trains: its gradient is PyTorch's, and it learns its task."""

import numpy as np
import numpy.testing as npt
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[test]'")

GRADIENT = """async ([seed, size]) => {
  const { TINY_SIZES, randomNumbers, taskBatch, tinyGradient, tinyTransformer } =
    await import("/learn/tiny_transformer.js");
  const model = tinyTransformer(seed);
  const batch = taskBatch(randomNumbers(seed + 10), size);
  const { loss, gradient } = tinyGradient(model, batch);
  const plain = (matrices) => Object.fromEntries(Object.entries(matrices).map(
    ([name, { rows, columns, values }]) => [name, { shape: [rows, columns], values: [...values] }],
  ));
  return { sizes: TINY_SIZES, batch, loss, parameters: plain(model.parameters),
           gradient: plain(gradient) };
}"""
LEARN = """async (steps) => {
  const { randomNumbers, taskBatch, tinyStep, tinyTransformer } =
    await import("/learn/tiny_transformer.js");
  const model = tinyTransformer();
  const random = randomNumbers(7);
  return Array.from({ length: steps }, () => tinyStep(model, taskBatch(random, 16)));
}"""


def loss_of(parameters, batch, sizes):
    """The forward pass in PyTorch, written from the formulas of the module's head."""
    letters, target = (torch.tensor([x[name] for x in batch]) for name in ("letters", "target"))
    p = parameters
    x = p["token"][letters] + p["position"]
    query, key, value = (x @ p[f"w_{name}"] for name in ("query", "key", "value"))
    weights = torch.softmax(query @ key.mT / sizes["head_width"] ** 0.5, -1)
    h = x + weights @ value @ p["w_output"]
    y = h + torch.relu(h @ p["w_in"]) @ p["w_out"]
    logits = y @ p["w_logits"]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def test_the_gradient_is_that_of_pytorch_and_it_learns_its_task(page):
    page.goto("/#learn")
    for seed in (1, 2, 3):
        compare(page.evaluate(GRADIENT, [seed, 5]))
    losses = page.evaluate(LEARN, 160)
    assert losses[0] > 1.5  # a guess among eight letters: log 8 = 2.08
    assert np.mean(losses[-10:]) < 0.1


def compare(found):
    """Loss and gradient with PyTorch's."""
    parameters = {
        name: torch.tensor(one["values"], dtype=torch.float64).reshape(one["shape"])
        for name, one in found["parameters"].items()
    }
    for one in parameters.values():
        one.requires_grad_()
    loss = loss_of(parameters, found["batch"], found["sizes"])
    loss.backward()
    # Both are float64: sums of at most 5 * 8 * 48 products in another order, eight layers of them.
    bound = 8 * 5 * 8 * 48 * 2.2e-16
    npt.assert_allclose(found["loss"], loss.item(), rtol=bound)
    for name, one in parameters.items():
        mine = np.reshape(found["gradient"][name]["values"], one.shape)
        size = max(1.0, float(one.grad.abs().max()))
        npt.assert_allclose(mine, one.grad.numpy(), atol=bound * size, rtol=0, err_msg=name)
        assert one.grad.abs().max() > 0
