"""Where a prompt ends and generated tokens begin: in every form of generate, and in a file."""

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from tests.helpers.model_families import FAMILIES, batch

import regard

FAMILY = {family.name: family for family in FAMILIES}
LLAMA, BART = FAMILY["llama"], FAMILY["bart"]


def seen_while_generating(model, inputs, **options):
    options = {"do_sample": False, "max_new_tokens": 5} | options
    with regard.watch(model) as seen:
        model.generate(**inputs, **options)
    return seen


def prompts(inputs):
    """The tokens of each sentence without its padding."""
    return inputs["attention_mask"].sum(dim=1).tolist()


def given(seen, part=None):
    return [seen.sentence(number).prompt_tokens(part) for number in range(seen.sentences)]


def test_a_forward_without_generation_is_all_prompt():
    model, inputs = LLAMA.made(), batch("not", 1)
    with regard.watch(model) as seen, torch.no_grad():
        model(**inputs)
    assert seen.prompt_tokens() == len(seen.tokens) == inputs["input_ids"].shape[1]


@pytest.mark.parametrize("padding", ["not", "left"])
def test_greedy_generation(padding):
    inputs = batch(padding)
    seen = seen_while_generating(LLAMA.made(), inputs)
    assert given(seen) == prompts(inputs)
    longest = max(range(seen.sentences), key=prompts(inputs).__getitem__)
    assert len(seen.sentence(longest).tokens) == max(prompts(inputs)) + 4  # the last is not read


def test_beams_keep_the_prompt_of_their_sentence():
    inputs = batch("left")
    seen = seen_while_generating(LLAMA.made(), inputs, num_beams=3, num_return_sequences=2)
    assert given(seen) == [length for length in prompts(inputs) for _ in range(2)]


def test_a_draft_is_not_the_prompt():
    inputs = batch("not", 1)
    seen = seen_while_generating(LLAMA.made(), inputs, prompt_lookup_num_tokens=3)
    assert given(seen) == prompts(inputs)


def test_a_prompt_in_several_pieces():
    model, inputs = LLAMA.made(), batch("not", 1)
    ids = inputs["input_ids"]
    with regard.watch(model) as seen, torch.no_grad():
        cache = model(ids[:, :4], use_cache=True).past_key_values
        cache = model(ids[:, 4:], past_key_values=cache, use_cache=True).past_key_values
        model(ids[:, :1], past_key_values=cache, use_cache=True)
    assert seen.prompt_tokens() == ids.shape[1]
    assert len(seen.tokens) == ids.shape[1] + 1


def test_a_model_with_two_sides_is_given_its_start():
    inputs = batch("not", 1)
    seen = seen_while_generating(BART.made(), inputs)
    assert given(seen, "encoder") == prompts(inputs)
    assert given(seen, "decoder") == given(seen, "cross") == [1]


def test_a_file_says_where_the_prompt_ends(tmp_path):
    inputs = batch("left")
    seen = seen_while_generating(LLAMA.made(), inputs)
    seen.save(tmp_path / "run.regard")
    assert given(regard.load(tmp_path / "run.regard")) == prompts(inputs)


def test_an_older_file_does_not_know(tmp_path):
    """A file without the field opens, and says None."""
    seen = seen_while_generating(LLAMA.made(), batch("not", 1))
    seen.save(tmp_path / "run.regard")
    with safe_open(tmp_path / "run.regard", framework="numpy") as file:
        header = json.loads(file.metadata()["regard"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del header["prompts"], header["header_checksum"]  # both came later
    save_file(arrays, tmp_path / "old.regard", metadata={"regard": json.dumps(header)})
    assert regard.load(tmp_path / "old.regard").prompt_tokens() is None
