"""regard.judge around programs: sound ones pass with their bits, planted kernels are caught."""

import json
import sys
import types

import pytest
import tokenizers
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, batch
from tests.judging.kernels import causal, repeated
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import regard
from regard.checker.plugin import attention_judge
from regard.cli import main
from regard.errors import ArgumentError
from regard.view.terminal.watch import parting_page

NAMES = [family.name for family in FAMILIES]
nightly = pytest.mark.nightly


def family(name):
    return next(x for x in FAMILIES if x.name == name)


def run(model, padded="left", kind="decoder"):
    inputs = batch(padded)
    if kind == "both":
        inputs["decoder_input_ids"] = inputs["input_ids"]
    with torch.no_grad():
        return model(**inputs)


def loaded(name, dtype=torch.float32, kernel="sdpa"):
    model = family(name).made(dtype)
    try:
        model.set_attn_implementation(kernel)
    except ValueError:
        model.set_attn_implementation("eager")
    return model


@pytest.mark.parametrize(
    ("dtype", "kernel"),
    [
        (torch.float32, "sdpa"),
        (torch.bfloat16, "eager"),
        pytest.param(torch.float32, "eager", marks=nightly),
        pytest.param(torch.bfloat16, "sdpa", marks=nightly),
        pytest.param(torch.float16, "sdpa", marks=nightly),
        pytest.param(torch.float16, "eager", marks=nightly),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", NAMES)
def test_models_are_right_and_keep_their_bits(name, dtype, kernel):
    model, kind = loaded(name, dtype, kernel), family(name).kind
    plain = run(model, "left", kind)
    with regard.judge(model) as verdict:
        seen = run(model, "left", kind)
    assert verdict.ok, str(verdict)
    assert not verdict.reasons
    assert torch.equal(plain[0], seen[0])
    assert verdict.heads >= 8


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_generation_is_right(name):
    model = loaded(name)
    with torch.no_grad(), regard.judge(model, rows=4) as verdict:
        model.generate(**batch("left"), max_new_tokens=4, do_sample=False)
    assert verdict.ok, str(verdict)
    assert verdict.rows > verdict.heads


def test_calls_judges_another_layer_in_each_forward():
    model = loaded("llama")
    with regard.judge(model, calls=2) as verdict:
        run(model)
        run(model)
    assert [place.calls for place in verdict.places.values()] == [1, 1]
    assert "2 calls were left out by calls=" in str(verdict)


def test_training_with_dropout_is_not_judged():
    model = family("gpt2").model(family("gpt2").config(**family("gpt2").sizes)).train()
    with regard.judge(model) as verdict:
        model(**batch("none"))
    assert not verdict.ok
    assert "dropout 0.1 is on" in str(verdict)


def my_attention(query, key, value, attn_mask=None, is_causal=False, scale=None):
    """An engine's function: right unless a test sets one of its faults."""
    key, value = repeated(query, key, value)
    mask = causal(query, key) if is_causal and FAULT != "mask" else attn_mask
    if FAULT == "head":
        key, value = (torch.cat([x[:, :1], x[:, :1], x[:, 2:]], 1) for x in (key, value))
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=0.2 if FAULT == "scale" else scale
    )


FAULT = ""


class Engine(torch.nn.Module):
    """A layer that attends through a function of another module, as engines do."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.qkv = torch.nn.Linear(32, 96)

    def forward(self, x_bte):
        parts = self.qkv(x_bte).chunk(3, -1)
        query, key, value = (x.unflatten(-1, (4, 8)).transpose(1, 2) for x in parts)
        return sys.modules["an_engine"].attend(query, key, value, is_causal=True)


@pytest.mark.parametrize(
    ("fault", "name"),
    [("", ""), ("mask", "no mask at all"), ("head", "head 1: reads key head 0"),
     ("scale", "scale 0.2 instead of 0.3536")],
)  # fmt: skip
def test_a_kernel_is_judged_by_its_arguments(fault, name, monkeypatch):
    engine = types.ModuleType("an_engine")
    engine.attend = my_attention
    monkeypatch.setitem(sys.modules, "an_engine", engine)
    monkeypatch.setattr(sys.modules[__name__], "FAULT", fault)
    model, x_bte = Engine(), torch.randn(1, 40, 32, generator=torch.Generator().manual_seed(1))
    own = my_attention
    with torch.no_grad(), regard.judge(model, kernel=own) as verdict:
        assert engine.attend is not own  # nor is the name of this module
        model(x_bte)
    assert engine.attend is own is my_attention
    assert verdict.ok == (not fault)
    assert name in str(verdict)
    assert verdict.heads == 4


def test_a_kernel_is_put_back_after_an_error(monkeypatch):
    engine = types.ModuleType("an_engine")
    engine.attend = my_attention
    monkeypatch.setitem(sys.modules, "an_engine", engine)
    before = dict(ALL_ATTENTION_FUNCTIONS._global_mapping)
    with pytest.raises(RuntimeError, match="mat1"), regard.judge(Engine(), kernel=my_attention):
        Engine()(torch.zeros(1, 2, 5))
    assert engine.attend is my_attention
    assert before == ALL_ATTENTION_FUNCTIONS._global_mapping


def test_what_a_model_registers_is_judged_by_what_it_was_asked_for():
    def drops_the_first_key(module, query, key, value, attention_mask, **options):
        mask = causal(query, key).clone()
        mask[1:, 0] = False
        key, value = repeated(query, key, value)
        output = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=options["scaling"]
        )
        return output.transpose(1, 2), None

    hf.AttentionInterface.register("drops_the_first_key", drops_the_first_key)
    model = loaded("llama")
    model.config._attn_implementation = "drops_the_first_key"
    try:
        with regard.judge(model) as verdict:
            run(model, "none")
    finally:
        model.set_attn_implementation("sdpa")
        del ALL_ATTENTION_FUNCTIONS._global_mapping["drops_the_first_key"]
    assert "key 0 dropped" in str(verdict)
    assert len(verdict.faults) == verdict.heads == 8


def test_declared_attention_is_judged():
    query, key, value = torch.randn(3, 1, 2, 9, 4, generator=torch.Generator().manual_seed(2))

    def attend(scale):
        weights = torch.softmax(query @ key.mT * scale, -1)
        return regard.declare(query, key, value, output=weights @ value)

    for scale, right in ((0.5, True), (0.25, False)):
        with regard.judge() as verdict:
            attend(scale)
        faults = {fault.path for fault in verdict.faults}
        assert (faults == set()) == right


def test_the_arguments_are_compared_with_the_config():
    model = loaded("mistral")
    with regard.judge(model, spec=model.config) as verdict:
        run(model, "none")
    assert verdict.ok
    assert "asked as spec says: scale, softcap, key_heads, window" in str(verdict)
    with regard.judge(model, spec={"window": 3, "scale": 0.25, "softcap": 30.0}) as verdict:
        run(model, "none")
    assert not verdict.ok
    assert not verdict.faults
    text = str(verdict)
    assert "a key 4 back is seen, spec says a window of 3" in text
    assert "scale 0.5, spec says 0.25" in text
    assert "softcap none, spec says 30.0" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [({"rows": 0}, "rows must be a whole number from 1"), ({"calls": True}, "calls must be"),
     ({"kernel": 3}, "kernel must be a function"), ({"spec": {"widow": 3}}, "got widow"),
     ({"spec": 3}, "spec must be a dict or the config"), ({"kernel": len}, "query, key and value"),
     ({"kernel": lambda query, key, value: None}, "bound to no name")],
)  # fmt: skip
def test_wrong_arguments_are_told(options, words):
    with pytest.raises(ArgumentError, match=words), regard.judge(Engine(), **options):
        pass


def test_the_fixture_fails_with_the_verdict():
    model, x_bte = Engine(), torch.ones(1, 5, 32)
    engine = types.ModuleType("an_engine")
    judged = attention_judge.__wrapped__()
    engine.attend = torch.nn.functional.scaled_dot_product_attention
    sys.modules["an_engine"] = engine
    try:
        with judged(model) as verdict:
            model(x_bte)
        with (
            pytest.raises(pytest.fail.Exception, match=r"scale 0\.3536, spec says 0\.5"),
            judged(model, spec={"scale": 0.5}),
        ):
            model(x_bte)
    finally:
        del sys.modules["an_engine"]
    assert verdict.ok


@pytest.fixture
def command(tmp_path, capsys):
    """Runs ``regard`` and returns its status and output; a model lies in the folder."""
    words = {word: i for i, word in enumerate(["<s>", "a", "dog", "ate"])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, "a"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    special = {"pad_token": "<s>"}
    hf.PreTrainedTokenizerFast(tokenizer_object=plain, **special).save_pretrained(tmp_path)
    loaded("llama").save_pretrained(tmp_path)
    capsys.readouterr()

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main([*map(str, arguments)])
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    return run


def test_the_command(tmp_path, command):
    asked = "judge", tmp_path, "a dog ate a dog"
    status, out, err = command(*asked, "--spec", "--dense")
    assert (status, "asked as spec says: scale" in out) == (0, True), err
    half = "--dtype", "bfloat16", "--attention", "eager"
    status, out, _ = command(*asked, "--generate", "2", *half)
    assert (status, out.startswith("right to rounding")) == (0, True)
    status, out, _ = command(*asked, "--json")
    assert [x["verdict"] for x in json.loads(out)["heads"]] == ["right"] * 8
    assert command(*asked, "--rows", "0")[0] == 2
    assert "--dtype must be one of float32" in command(*asked, "--dtype", "int8")[2]


def test_two_saved_runs_are_compared_on_the_command_line(tmp_path, command):
    files = [tmp_path / f"{name}.regard" for name in ("float32", "bfloat16")]
    for file in files:
        saved = command("judge", tmp_path, "a dog ate a dog", "--dtype", file.stem, "--save", file)
        assert (saved[0], "Saved as" in saved[2]) == (0, True)
    status, out, _ = command("compare", *files)
    assert status == 0
    assert out.startswith("The two runs differ by no more than rounding explains in all 2 layers")
    assert any(f"Next token: {name!r}" in out for name in ("<s>", "a", "dog", "ate"))
    out = command("compare", *files, "--json")[1]
    assert json.loads(out)["parting"]["at"] is None
    alone = regard.load(files[0]).verdict
    alone.save(tmp_path / "alone.regard")  # as of a run whose weights could not be shown
    printed = parting_page(alone.compare(regard.load(files[1]).verdict))
    assert command("compare", tmp_path / "alone.regard", files[1])[1] == f"{printed}\n"
    assert command("compare", tmp_path / "alone.regard", "nowhere")[0] == 2


def test_layers_without_a_softmax_are_named():
    """A verdict does not pass over what it could not see."""

    class Convolution(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = torch.nn.Conv1d(16, 16, 3, padding=2)

        def forward(self, x):
            return self.mix(x.mT)[..., : x.shape[1]].mT

    class Attend(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    class Hybrid(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([Convolution(), Attend(), Convolution()])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    with torch.no_grad(), regard.judge(model := Hybrid().eval()) as verdict:
        model(torch.randn(1, 12, 16))
    assert verdict.ok
    assert str(verdict).splitlines()[-1] == (
        "No softmax attention was seen in 2 of 3 layers of layers: Conv1d."
    )
