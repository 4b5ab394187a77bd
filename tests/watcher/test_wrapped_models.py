"""Models inside those of other packages, imitated: PEFT, accelerate, sentence-transformers."""

import copy
import functools

import pytest
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, STEPS, batch, close, eager
from tests.helpers.small_tokenizers import byte_level

import regard

FAMILY = {family.name: family for family in FAMILIES}


class Adapted(torch.nn.Module):
    """A linear layer with a small one beside it, as LoRA puts there."""

    def __init__(self, base_layer):
        super().__init__()
        self.base_layer = base_layer
        self.down = torch.nn.Linear(base_layer.in_features, 2, bias=False)
        self.up = torch.nn.Linear(2, base_layer.out_features, bias=False)

    def forward(self, vectors):
        return self.base_layer(vectors) + self.up(self.down(vectors))


class Tuner(torch.nn.Module):
    """A wrapper that calls ``forward`` of its model, past all hooks, as PEFT does."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *arguments, **keywords):
        return self.model.forward(*arguments, **keywords)

    def generate(self, *arguments, **keywords):
        return self.model.generate(*arguments, **keywords)


class Transformer(torch.nn.Module):
    """A module that takes and gives a dict, as in sentence-transformers."""

    def __init__(self, model):
        super().__init__()
        self.auto_model = model

    def forward(self, features):
        output = self.auto_model.forward(**features)
        return features | {"token_embeddings": output.last_hidden_state}


class Pooling(torch.nn.Module):
    def forward(self, features):
        return features["token_embeddings"].mean(dim=1)


def adapted():
    torch.manual_seed(0)
    model = copy.deepcopy(FAMILY["llama"].made())
    for layer in model.model.layers:
        layer.self_attn.q_proj = Adapted(layer.self_attn.q_proj)
    return Tuner(model)


def tokens_of(seen, part):
    return [ids.tolist() for ids in seen._recorder.runs[-1].tokens[part]]


def real_tokens(inputs):
    rows = zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
    return [ids[mask.bool()].tolist() for ids, mask in rows]


def test_an_adapted_model():
    tuner, inputs = adapted(), batch("left")
    with torch.no_grad():
        expected = tuner(**inputs).logits
        with regard.watch(tuner) as seen:
            for _ in range(2):
                torch.testing.assert_close(tuner(**inputs).logits, expected, rtol=0, atol=0)
    assert seen.runs == 2
    assert tokens_of(seen, "decoder") == real_tokens(inputs)


def test_an_adapted_model_that_generates_with_beams():
    tuner = adapted()
    options = {"max_new_tokens": 4, "num_beams": 2, "do_sample": False}
    with regard.watch(tuner) as seen:
        output = tuner.generate(**batch("not"), **options)
    model = tuner.model
    own = eager(model, lambda: model(output[:, :-1], output_attentions=True)).attentions
    for sentence in range(3):
        map_hqk = own[1][sentence].double().numpy()
        close(seen.sentence(sentence)[1].map, map_hqk, STEPS)


def test_forwards_that_were_replaced():
    """accelerate puts functions of its own in the stead of forward."""
    model, inputs = copy.deepcopy(FAMILY["llama"].made()), batch("left")
    for module in (model, *model.model.layers):
        before = module.forward
        module.forward = functools.wraps(before)(functools.partial(before))
    with torch.no_grad():
        expected = model(**inputs).logits
        with regard.watch(model) as seen:
            torch.testing.assert_close(model(**inputs).logits, expected, rtol=0, atol=0)
    assert tokens_of(seen, "decoder") == real_tokens(inputs)


@pytest.mark.parametrize("padded", ["not", "right"])
def test_tokens_of_a_model_that_is_called_by_its_forward(padded):
    model = torch.nn.Sequential(Transformer(FAMILY["bert"].made()), Pooling())
    inputs = batch(padded)
    with torch.no_grad():
        expected = model(inputs)
        with regard.watch(model) as seen:
            for _ in range(2):
                torch.testing.assert_close(model(inputs), expected, rtol=0, atol=0)
    assert seen.runs == 2
    assert tokens_of(seen, "encoder") == real_tokens(inputs)


class WrittenPooling(torch.nn.Module):
    """A query of its own that looks at every token, as classifiers put on top of a model."""

    def __init__(self, width):
        super().__init__()
        self.query = torch.nn.Parameter(torch.randn(1, 1, width))

    def forward(self, features):
        x_bte = features["token_embeddings"]
        self.weights_bqk = (self.query @ x_bte.mT).softmax(-1)
        return self.weights_bqk @ x_bte


class TorchPooling(WrittenPooling):
    def __init__(self, width):
        super().__init__(width)
        self.attend = torch.nn.MultiheadAttention(width, 1, batch_first=True)

    def forward(self, features):
        x_bte = features["token_embeddings"]
        query = self.query.expand(len(x_bte), -1, -1)
        pooled, self.weights_bqk = self.attend(query, x_bte, x_bte)
        return pooled


@pytest.mark.parametrize("pooling", [WrittenPooling, TorchPooling])
def test_attention_around_a_model_of_transformers_is_seen(pooling):
    torch.manual_seed(0)
    bert, inputs = FAMILY["bert"].made(), batch("not", 1)
    model = torch.nn.Sequential(Transformer(bert), pooling(bert.config.hidden_size)).eval()
    with torch.no_grad():
        expected = model(inputs)
        with regard.watch(model) as seen:
            assert torch.equal(model(inputs), expected)
    own = eager(bert, lambda: bert(**inputs, output_attentions=True)).attentions
    *layers, (path, pooled) = seen.paths.items()
    assert path.startswith("1")
    assert len(layers) == len(own)
    for (_, key), weights in zip(layers, own, strict=True):
        close(seen[key].weights, weights[0].double().numpy(), STEPS)
    close(seen[pooled].weights, model[1].weights_bqk.double().numpy(), STEPS)


def test_a_pipeline_has_its_model_and_its_tokenizer():
    tokenizer = byte_level()
    torch.manual_seed(0)
    model = hf.LlamaForCausalLM(hf.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2,
    )).eval()  # fmt: skip
    pipeline = hf.pipeline("text-generation", model=model, tokenizer=tokenizer)
    with regard.watch(pipeline) as seen:
        pipeline("The dog ate 日本語\nthe", max_new_tokens=1, do_sample=False)
    assert seen.words[:4] == ("<s>", "The", "dog", "ate")
    assert seen.words[-3:] == ("日本語", "\\n", "the")  # the line end is a word of its own
