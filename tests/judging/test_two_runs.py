"""Two judged runs on one text: honest ones do not part, planted faults are placed and blamed."""

import copy
import json

import pytest
import torch
import transformers as hf
from tests.judging.kernels import causal, repeated
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import regard
from regard.errors import ArgumentError
from regard.judging.hypotheses import quantise
from regard.watcher.trace import distance

IDS = torch.randint(0, 200, (1, 90), generator=torch.Generator().manual_seed(0))
FAULTY = 2  # the layer in which a fault is planted


def made(dtype=torch.float32):
    torch.manual_seed(0)
    sizes = {"hidden_size": 128, "intermediate_size": 128, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = hf.LlamaConfig(vocab_size=200, **sizes, **heads)
    model = hf.LlamaForCausalLM(config).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.12)
    return model.to(torch.bfloat16).to(dtype)  # the same parameters in every dtype


def run(model, kernel="sdpa"):
    model.set_attn_implementation(kernel)
    with torch.no_grad(), regard.judge(model, keep=True) as verdict:
        model(IDS)
    return verdict


def watched(model):
    with torch.no_grad(), regard.watch(model) as seen, regard.judge(seen):
        model(IDS)
    return seen


FAULTS = {
    "mask": lambda q, k, v, mask: (q, k, v, torch.ones_like(mask)),
    "int8": lambda q, k, v, mask: (q, quantise(k.float(), 8, (-1,)).to(k.dtype), v, mask),
    "head": lambda q, k, v, mask: (q, k.roll(1, 1), v.roll(1, 1), mask),
}


@pytest.fixture(params=FAULTS)
def fault(request):
    """A kernel of the registry with a fault in one layer."""

    def planted(module, query, key, value, attention_mask, **options):
        mask = causal(query, key)
        if module.layer_idx == FAULTY:
            query, key, value, mask = FAULTS[request.param](query, key, value, mask)
        key, value = repeated(query, key, value)
        output = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=options["scaling"]
        )
        return output.transpose(1, 2), None

    hf.AttentionInterface.register("planted", planted)
    yield request.param
    del ALL_ATTENTION_FUNCTIONS._global_mapping["planted"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((torch.bfloat16, "sdpa"), (torch.float32, "sdpa")),
        ((torch.bfloat16, "eager"), (torch.float32, "sdpa")),
        ((torch.bfloat16, "sdpa"), (torch.bfloat16, "eager")),
        ((torch.float32, "eager"), (torch.float32, "sdpa")),
        ((torch.float16, "sdpa"), (torch.bfloat16, "eager")),
    ],
    ids=str,
)
def test_honest_runs_do_not_part(one, other):
    parting = run(made(one[0]), one[1]).compare(run(made(other[0]), other[1]))
    assert parting.at is None, str(parting)
    assert 0.1 < max(layer.most for layer in parting.layers) < 1.3
    assert "no more than rounding explains in all 4 layers" in str(parting)
    assert min(layer.coarse for layer in parting.layers[1:]) > 1  # rounding adds up over layers


def test_the_same_run_is_no_distance_apart():
    verdict = run(made())
    parting = verdict.compare(verdict)
    assert {share for layer in parting.layers for share in layer.apart.values()} == {0.0}
    assert "0 bits apart" in parting.next_token


def test_a_cast_of_the_parameters_is_rounding():
    torch.manual_seed(1)
    whole = made()
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter *= 1 + 0.001 * torch.rand(parameter.shape)
    cast = copy.deepcopy(whole).to(torch.bfloat16)
    parting = run(whole).compare(run(cast))
    assert parting.at is None, str(parting)
    assert parting.parameters == "Parameters were cast to bfloat16: that counts as rounding."


def test_a_fault_is_placed_and_its_side_is_named(fault):
    honest, faulty = run(made()), run(made(torch.bfloat16), "planted")
    parting = honest.compare(faulty)
    assert (parting.at, parting.where) == (FAULTY, "attention")
    name = {"mask": "no mask at all", "int8": "keys in int8", "head": "reads key head"}[fault]
    assert parting.sides[0] == ""
    assert name in parting.sides[1]
    assert str(parting).startswith("The two runs part in the attention of model.layers.2.self_attn")
    assert "the first run is right to rounding there" in str(parting)
    if fault == "int8":  # two runs alone do not show it: the judge of one does
        assert parting.layers[FAULTY].beyond == ()
        assert parting.layers[FAULTY].coarse > 5
    else:
        assert "output" in parting.layers[FAULTY].beyond
        assert not any(layer.beyond for layer in parting.layers[:FAULTY])


def test_what_is_upstream_of_attention_is_told_by_what_it_reaches():
    """A projection that was trained on: its query alone parts, and its parameter is named."""
    other = made()
    with torch.no_grad():
        other.model.layers[FAULTY].self_attn.q_proj.weight *= 1.05
    parting = run(made(torch.bfloat16)).compare(run(other))
    assert (parting.at, parting.where, parting.sides) == (FAULTY, "inputs", ("", ""))
    assert [x for x in parting.layers[FAULTY].beyond if x != "output"] == ["query"]
    assert "q_proj.weight by 4.8 %" in parting.parameters
    assert "its key and value by no more than that" in str(parting)


def test_calls_that_are_asked_for_something_else_are_told():
    other = made()
    other.model.layers[FAULTY].self_attn.scaling = 0.25
    parting = run(made(torch.bfloat16)).compare(run(other))
    assert (parting.at, parting.where, parting.sides) == (FAULTY, "attention", ("", ""))
    assert parting.asked == "scale 0.1768 and 0.25"


def test_a_file_of_a_verdict_is_compared_as_the_run_was(tmp_path, fault):
    runs = [run(made()), run(made(torch.bfloat16), "planted")]
    for number, verdict in enumerate(runs):
        verdict.save(tmp_path / f"{number}.regard")
    stored = [regard.load(tmp_path / f"{number}.regard") for number in (0, 1)]
    assert list(map(str, stored)) == list(map(str, runs))
    assert [verdict.ok for verdict in stored] == [True, False]
    assert [*stored[1].to_dicts()] == [*runs[1].to_dicts()]
    assert stored[0].compare(stored[1]).to_dict() == runs[0].compare(runs[1]).to_dict()


def test_a_watched_run_keeps_its_verdict(tmp_path):
    runs = [watched(made()), watched(made(torch.bfloat16))]
    runs[0].save(tmp_path / "one.regard")
    stored = regard.load(tmp_path / "one.regard")
    assert str(stored.verdict) == str(runs[0].verdict)
    comparison, whole = stored.compare(runs[1]), runs[0].compare(runs[1])
    assert comparison.parting.to_dict() == whole.parting.to_dict()
    assert str(comparison).startswith("The two runs differ by no more than rounding explains")
    assert json.loads(json.dumps(comparison.to_dict()))["parting"]["at"] is None


def test_runs_that_were_not_judged_or_read_other_texts_have_no_place_to_part():
    model = made()
    with torch.no_grad(), regard.watch(model) as seen:
        model(IDS)
    assert seen.verdict is None
    assert seen.compare(watched(model)).parting is None
    with torch.no_grad(), regard.judge(model, keep=True) as short:
        model(IDS[:, :50])
    assert short.compare(run(model)) is None
    with pytest.raises(ArgumentError, match="keep needs a model"):
        regard.judge(keep=True)


def test_distance_is_a_median_of_shares():
    other = torch.ones(3, 2, 4).numpy()
    one = other.copy()
    one[0] *= 1.5
    one[1] *= 1.25
    assert distance(one, other) == pytest.approx(0.25)
    assert distance(one.repeat(2, 1), other) == pytest.approx(0.25)  # keys of each head
