"""A model trained here to tell the colour of a marked patch: its attention is on that patch."""

import numpy as np
import pytest
import torch
import transformers as hf

import regard

SIDE, COLOURS = 4, 4
MARK = 1.0


def pictures(number, seed):
    """Pictures of 4 x 4 patches of 2 pixels, one patch marked; which, and its colour."""
    generator = np.random.default_rng(seed)
    at = generator.integers(0, SIDE * SIDE, number)
    colours = generator.integers(0, COLOURS, (number, SIDE * SIDE))
    cells = np.zeros((number, SIDE * SIDE, COLOURS + 1), np.float32)
    np.put_along_axis(cells[..., :COLOURS], colours[..., None], 1.0, axis=-1)
    cells[np.arange(number), at, COLOURS] = MARK
    images = cells.reshape(number, SIDE, SIDE, COLOURS + 1).repeat(2, 1).repeat(2, 2)
    targets = colours[np.arange(number), at]
    return torch.tensor(images).permute(0, 3, 1, 2), at, torch.tensor(targets)


@pytest.fixture(scope="module")
def model():
    """One layer, one head, trained until it names the colour of the marked patch every time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # products this small only wait for a second one
    torch.manual_seed(0)
    model = hf.ViTForImageClassification(hf.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=1, intermediate_size=16,
        image_size=2 * SIDE, patch_size=2, num_channels=COLOURS + 1, num_labels=COLOURS,
        initializer_range=0.2,
    ))  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(200):
        images, _, targets = pictures(64, step)
        loss = model(pixel_values=images, labels=targets).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss < 0.01:
            break
    torch.set_num_threads(threads)
    return model.eval()


def test_the_darkest_cell_is_the_marked_patch(model):
    images, at, targets = pictures(20, 1000)
    with torch.no_grad(), regard.watch(model) as seen:
        answers = model(pixel_values=images).logits.argmax(-1)
    assert (answers == targets).all()
    for number, patch in enumerate(at):
        image = seen.image(head=0, layer=0, image=number)
        (row, column, weight), *_ = image.strongest(1)
        assert (row, column) == divmod(patch, SIDE)
        assert weight > 0.5
        picture = np.zeros((8, 8, 3), np.uint8)
        box = seen.image(picture, layer=0, image=number).svg().rsplit("<rect", 1)[1]
        assert f'x="{column * 120:.2f}" y="{row * 120:.2f}"' in box
