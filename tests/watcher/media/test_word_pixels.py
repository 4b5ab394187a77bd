"""Where the image of a diffusion model looks at a word: UNet, SD3 and Flux shapes, patch by patch.

The shapes are built here in plain torch; those of the diffusers package are compared with them
where it is installed.
"""

import importlib.util

import numpy as np
import pytest
import torch
from tests.helpers.media_models import image_tokenizer
from tests.helpers.small_tokenizers import clip
from torch import nn
from torch.nn import functional as F

import regard
from regard.errors import ArgumentError, NotAskedError

WIDTH, HEADS, PROMPT = 8, 2, "what is this cat ?"
STEPS = 3
# Scores are below 20; float32 rounds a weight by less than 20 roundings of 6e-8 each.
EXACT = 2e-6


def heads(x_bte):
    return x_bte.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class Attention(nn.Module):
    """Patches that look at a prompt, or at both, with the weights of the last call."""

    def __init__(self, prompt_last=None):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        for layer in (self.q, self.k):
            nn.init.normal_(layer.weight, std=1.5)
        self.prompt_last = prompt_last

    def forward(self, hidden_states, encoder_hidden_states):
        texts = [encoder_hidden_states, hidden_states]
        if self.prompt_last is None:
            query, keys = hidden_states, encoder_hidden_states
        else:
            query = keys = torch.cat(texts[::-1] if self.prompt_last else texts, dim=1)
        q, k, v = heads(self.q(query)), heads(self.k(keys)), heads(self.v(keys))
        self.weights_bhqk = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        output = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        patches = hidden_states.shape[1]
        return hidden_states + (output[:, :patches] if self.prompt_last else output[:, -patches:])


class UNet(nn.Module):
    """Cross-attention at two sizes of an image, as diffusers names its modules and arguments."""

    def __init__(self):
        super().__init__()
        self.down_blocks, self.mid_block = (nn.ModuleDict({"attn2": Attention()}) for _ in range(2))

    def forward(self, sample, timestep, encoder_hidden_states):
        high, wide = sample.shape[-2:]
        x_bte = sample.flatten(2).transpose(1, 2) + timestep
        x_bte = self.down_blocks.attn2(x_bte, encoder_hidden_states=encoder_hidden_states)
        small = F.avg_pool2d(x_bte.transpose(1, 2).unflatten(2, (high, wide)), 2)
        small = small.flatten(2).transpose(1, 2)
        small = self.mid_block.attn2(small, encoder_hidden_states=encoder_hidden_states)
        return x_bte + small.mean(1, keepdim=True)


class SD3(nn.Module):
    """Image and prompt as one sequence, the image first, in patches of 2 x 2."""

    class config:  # noqa: N801 (as models have it)
        patch_size = 2

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(4, WIDTH, 2, stride=2)
        self.blocks = nn.ModuleList(Attention(prompt_last=True) for _ in range(2))

    def forward(self, hidden_states, encoder_hidden_states):
        x_bte = self.embed(hidden_states).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x_bte = block(x_bte, encoder_hidden_states)
        return x_bte


class Flux(nn.Module):
    """Prompt and image as one sequence, the prompt first; positions say where patches stand."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Attention(prompt_last=False) for _ in range(2))

    def forward(self, hidden_states, encoder_hidden_states, img_ids):
        for block in self.blocks:
            hidden_states = block(hidden_states, encoder_hidden_states)
        return hidden_states


def positions(rows, columns):
    at = torch.zeros(rows * columns, 3)
    at[:, 1], at[:, 2] = (x.flatten() for x in torch.meshgrid(
        torch.arange(rows), torch.arange(columns), indexing="ij"))  # fmt: skip
    return at


def noise(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


SHAPES = {
    "unet": (UNet, lambda step: {"sample": noise(1, WIDTH, 4, 6), "timestep": float(step)}),
    "sd3": (SD3, lambda step: {"hidden_states": noise(1, 4, 8, 12) + step}),
    "flux": (Flux, lambda step: {"hidden_states": noise(1, 24, WIDTH) + step,
                                 "img_ids": positions(4, 6)}),
}  # fmt: skip
TOKENS = image_tokenizer()("what is this cat ?")["input_ids"]
LENGTH = 9  # of the prompt with its padding


def steps(name):
    """A model of a shape, what was seen of its steps, and the weights of each step and layer."""
    torch.manual_seed(5)
    make, given = SHAPES[name]
    model, made = make().eval(), []
    layers = [x for x in model.modules() if isinstance(x, Attention)]
    prompt = {"encoder_hidden_states": noise(1, LENGTH, WIDTH)}
    with torch.no_grad(), regard.watch(model, tokenizer=image_tokenizer()) as seen:
        for step in range(STEPS):
            model(**given(step), **prompt)
            made.append([layer.weights_bhqk[0].double().numpy() for layer in layers])
    return seen.with_text(PROMPT), made


def on_word(name, weights_hqk, token):
    """What the patches of one layer give to a token of the prompt, (h, rows, columns)."""
    if name == "unet":
        column_hq = weights_hqk[..., token]
    else:
        first, patches = (24, slice(0, 24)) if name == "sd3" else (0, slice(LENGTH, LENGTH + 24))
        column_hq = weights_hqk[:, patches, first + token]
    return column_hq.reshape(HEADS, *((2, 3) if column_hq.shape[1] == 6 else (4, 6)))


CAT = 3  # the word's token; the tokenizer adds none


@pytest.mark.parametrize("name", SHAPES)
def test_every_patch_has_its_weight_on_the_word(name, tmp_path):
    seen, made = steps(name)
    assert seen.runs == STEPS
    assert seen.parts == (("cross",) if name == "unet" else ("encoder",))
    for layer in range(2):
        for head in range(HEADS):
            image = seen.image(word="cat", layer=layer, head=head)
            expected = on_word(name, made[-1][layer], CAT)[head]
            np.testing.assert_allclose(image.weights, expected, rtol=0, atol=EXACT)
    assert image.title == (
        f"Weights of the image on 'cat' ({seen.parts[0]} layer 1, head {HEADS - 1})"
    )
    assert "patches give 'cat'" in str(image)
    image.save(tmp_path / "cat.svg")
    assert "on average" in (tmp_path / "cat.svg").read_text()


@pytest.mark.parametrize("name", SHAPES)
def test_the_mean_over_steps_layers_and_chosen_heads(name):
    """Smaller layers are repeated to the finest one, cell by cell."""
    seen, made = steps(name)
    image = seen.image(word="cat", head=[1], runs="all")
    pictures = [[on_word(name, x, CAT)[1] for x in layers] for layers in made]
    if name == "unet":
        pictures = [[x, y.repeat(2, axis=0).repeat(2, axis=1)] for x, y in pictures]
    expected = np.mean(pictures, axis=(0, 1))
    np.testing.assert_allclose(image.weights, expected, rtol=0, atol=EXACT)
    assert image.title.endswith("mean of 2 layers, mean of heads 1), mean of 3 runs")
    some = seen.image(word="cat", layer=[0], runs=[0, 2])
    expected = np.mean([np.mean(pictures_of(name, made[run][0])) for run in (0, 2)])
    assert some.weights.mean() == pytest.approx(expected, abs=EXACT)
    assert some.to_dict()["word"] == "cat"


def pictures_of(name, weights_hqk):
    return on_word(name, weights_hqk, CAT)


def test_a_prompt_beside_an_empty_one():
    """Guidance runs both together: the prompt is the second sentence."""
    torch.manual_seed(5)
    model = UNet().eval()
    with torch.no_grad(), regard.watch(model, tokenizer=image_tokenizer()) as seen:
        model(noise(2, WIDTH, 4, 6), 0.0, noise(2, LENGTH, WIDTH))
    with pytest.raises(ArgumentError, match="there are 2 sentences"):
        seen.with_text(PROMPT).image(word="cat")
    image = seen.with_text(PROMPT).sentence(1).image(word="cat", layer=0, head=0, runs="all")
    expected = model.down_blocks.attn2.weights_bhqk[1, 0, :, CAT].reshape(4, 6)
    np.testing.assert_allclose(image.weights, expected, rtol=0, atol=EXACT)


def test_a_word_of_stable_diffusions_tokenizer():
    torch.manual_seed(5)
    model = UNet().eval()
    with torch.no_grad(), regard.watch(model, tokenizer=clip()) as seen:
        model(noise(2, WIDTH, 4, 6), 0.0, noise(2, 9, WIDTH))
    read = seen.with_text("a cat ran").sentence(1)
    assert read.texts()[1].words[:5] == ("<|startoftext|>", "a", "cat", "ran", "<|endoftext|>")
    weights_qk = model.down_blocks.attn2.weights_bhqk[1, 0].double().numpy()
    for word, tokens in (("cat", [2]), ("ran", [3, 4, 5])):
        image = read.image(word=word, layer=0, head=0, runs="all")
        expected = weights_qk[:, tokens].sum(axis=1).reshape(4, 6)
        np.testing.assert_allclose(image.weights, expected, rtol=0, atol=EXACT)


def test_a_word_of_several_tokens_is_their_sum():
    seen, made = steps("sd3")
    image = seen.image(word=1, layer=0, head=0)  # by its number
    np.testing.assert_allclose(image.weights, on_word("sd3", made[-1][0], 1)[0], rtol=0, atol=EXACT)
    assert seen.image(word="is", layer=0, head=0).title == image.title


def test_the_keys_of_a_unet_are_the_words_of_its_prompt():
    seen, _ = steps("unet")
    assert seen["cross", 0].key_text.words[:5] == ("what", "is", "this", "cat", "?")
    assert len(seen["cross", 0].key_text.tokens) == LENGTH


def test_a_program_says_where_its_prompt_stands():
    """Without the names that diffusers gives, grid and prompt are asked for."""

    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Attention(prompt_last=True)

        def forward(self, x, y):
            return self.block(x, y)

    torch.manual_seed(5)
    model = Program().eval()
    with torch.no_grad(), regard.watch(model, tokenizer=image_tokenizer()) as seen:
        model(noise(1, 24, WIDTH), noise(1, LENGTH, WIDTH))
    seen = seen.with_text(PROMPT)
    with pytest.raises(NotAskedError, match="grid="):
        seen.image(word="cat", prompt=(24, 33))
    image = seen.image(word="cat", grid=(4, 6), prompt=(24, 33), head=1)
    weights_hqk = model.block.weights_bhqk[0].double().numpy()
    expected = weights_hqk[1, :24, 24 + CAT].reshape(4, 6)
    np.testing.assert_allclose(image.weights, expected, rtol=0, atol=EXACT)


WRONG = [
    ({"word": "dog"}, "dog"),
    ({"word": "cat", "grid": (5, 7)}, "no grid in the proportion 5 x 7"),
    ({"word": "cat", "layer": 2}, "'cross' has layers 0, 1"),
    ({"word": "cat", "head": 2}, "head must be a number from 0 to 1, got 2"),
    ({"word": "cat", "head": []}, "head must be a number from 0 to 1"),
    ({"word": "cat", "runs": "some"}, "runs must be 'all' or numbers of runs, got 'some'"),
    ({"word": "cat", "runs": []}, "runs must be 'all' or numbers of runs, got none"),
    ({"word": "cat", "weighted": "norm"}, "weighted must be None where patches look at a word"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=lambda x: str(x)[:30])
def test_what_is_wrong_is_explained(options, message):
    seen, _ = steps("unet")
    with pytest.raises(ArgumentError, match=message):
        seen.image(**options)


needs_diffusers = pytest.mark.skipif(
    importlib.util.find_spec("diffusers") is None, reason="needs diffusers: pip install diffusers"
)


def of_diffusers(name):
    """A tiny model of diffusers, and its arguments: an image of 4 x 6 patches at the finest."""
    import diffusers

    common = {"attention_head_dim": 8, "joint_attention_dim": WIDTH, "pooled_projection_dim": 8,
              "num_attention_heads": HEADS}  # fmt: skip
    pooled = {"pooled_projections": noise(1, 8), "timestep": torch.tensor([0.5])}
    if name == "unet":
        model = diffusers.UNet2DConditionModel(
            sample_size=8, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4,
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), cross_attention_dim=WIDTH,
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), attention_head_dim=HEADS,
        )  # fmt: skip
        return model, {"sample": noise(1, 4, 4, 6), "timestep": 3}
    if name == "sd3":
        model = diffusers.SD3Transformer2DModel(
            sample_size=16, in_channels=4, out_channels=4, num_layers=2, pos_embed_max_size=16,
            caption_projection_dim=16, **common,
        )  # fmt: skip
        return model, {"hidden_states": noise(1, 4, 8, 12), **pooled}
    model = diffusers.FluxTransformer2DModel(
        in_channels=4, num_layers=1, num_single_layers=1, axes_dims_rope=(2, 2, 4), **common
    )
    given = {"img_ids": positions(4, 6), "txt_ids": torch.zeros(LENGTH, 3)}
    return model, {"hidden_states": noise(1, 24, 4), **given, **pooled}


@needs_diffusers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHAPES)
def test_models_of_diffusers(name, monkeypatch):
    torch.manual_seed(5)
    model, given = of_diffusers(name)
    given["encoder_hidden_states"] = noise(1, LENGTH, WIDTH)
    for key, parameter in model.named_parameters():
        if "to_q" in key or "to_k" in key:
            parameter.data *= 6
    made, sdpa = [], F.scaled_dot_product_attention

    def noted(query, key, value, *arguments, **options):
        scale = options.get("scale") or query.shape[-1] ** -0.5
        made.append((query @ key.mT * scale).softmax(-1)[0].double().numpy())
        return sdpa(query, key, value, *arguments, **options)

    with torch.no_grad():
        expected = model.eval()(**given).sample
        with regard.watch(model, tokenizer=image_tokenizer()) as seen:
            assert torch.equal(model(**given).sample, expected)
        monkeypatch.setattr(F, "scaled_dot_product_attention", noted)
        model(**given)
    monkeypatch.undo()
    looking = [x for x in made if name != "unet" or x.shape[-1] == LENGTH]
    seen, part = seen.with_text(PROMPT), "cross" if name == "unet" else "encoder"
    layers = [key.layer for key in seen.names if key.part == part]
    assert len(layers) == len(looking) > 1
    for layer, weights_hqk in zip(layers, looking, strict=True):
        image = seen.image(word="cat", layer=layer, head=1)
        shown = on_word(name, weights_hqk, CAT)[1]
        np.testing.assert_allclose(image.weights, shown, rtol=0, atol=EXACT)
    assert seen.image(word="cat", runs="all").weights.shape == (4, 6)
