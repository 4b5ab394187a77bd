"""What an experiment shows of models that do not continue a text: masks, labels, spans, vectors."""

import pickle

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.head_hooks import without_head
from tests.helpers.model_families import FAMILIES, HEADS, batch

import regard
from regard.errors import ArgumentError, NotAskedError

FAMILY = {family.name: family for family in FAMILIES}
MASK, CLS, SEP = 3, 1, 2
IDS = torch.tensor([[CLS, 9, 10, MASK, 12, MASK, 14, SEP]])
LABELS = {0: "O", 1: "PER", 2: "LOC"}


class Letters:
    """Token n is the letter n of the alphabet after 'A'; the first four are special."""

    all_special_ids = (0, 1, 2, 3)
    mask_token_id = MASK
    names = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")

    def decode(self, ids, **options):
        ids = np.atleast_1d(np.asarray(ids)).tolist()
        return "".join(self.names[x] if x < 4 else chr(65 + x) for x in ids)

    def convert_ids_to_tokens(self, token):
        return self.decode([token])

    def convert_tokens_to_string(self, pieces):
        return "".join(pieces)


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def bert(purpose, **more):
    torch.manual_seed(0)
    config = hf.BertConfig(**FAMILY["bert"].sizes, **more)
    model = getattr(hf, f"BertFor{purpose}" if purpose else "BertModel")(config).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return model


def seen_of(model, ids=IDS):
    with regard.watch(model, tokenizer=Letters()) as seen:
        model(input_ids=ids)
    return seen


def changed(model, layer=1, head=1):
    """Output of a BERT without one head, by a hook of our own."""
    projection = model.base_model.encoder.layer[layer].attention.output.dense
    width = 16 // HEADS

    def zero(module, arguments):
        x = arguments[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return (x,)

    hook = projection.register_forward_pre_hook(zero)
    output = model(input_ids=IDS)
    hook.remove()
    return output


def test_a_masked_language_model_is_asked_for_its_masks():
    model = bert("MaskedLM")
    experiment = seen_of(model).ablate(1, 1)
    text = str(experiment)
    assert "The next token" not in text
    for at in (3, 5):
        assert f"The word at token {at}, '[MASK]':" in text
        best = int(changed(model).logits[0, at].argmax())
        rows = experiment.next_tokens(position=at)
        found = max(rows, key=lambda x: x.after)
        assert (found.id, found.word) == (best, Letters().decode(best))
    first = changed(model).logits[0, 3].softmax(-1)
    assert experiment.next_tokens()[0].after == pytest.approx(
        float(first[experiment.next_tokens()[0].id]), abs=1e-5
    )
    effects = seen_of(model).effects()
    assert " at token 3: logit difference" in " ".join(str(effects).split())
    assert seen_of(model).gradients(steps=2).where == "at token 3"
    without = torch.where(IDS == MASK, 11, IDS)
    assert "The word at token 6, 'O':" in str(seen_of(model, without).ablate(1, 1))


def test_tokens_with_labels_name_the_label_and_the_token_that_changed_most():
    model = bert("TokenClassification", id2label=LABELS)
    experiment = seen_of(model).ablate(1, 1)
    before, after = (x.logits[0].softmax(-1) for x in (model(input_ids=IDS), changed(model)))
    moved = (before - after).abs().sum(-1)
    words = [1, 2, 4, 6]
    most = words[int(moved[words].argmax())]
    token = Letters().decode(int(IDS[0, most]))
    assert f"The label of token {most}, '{token}', the most changed of 4:" in str(experiment)
    assert {x.word for x in experiment.next_tokens()} == set(LABELS.values())
    rows = {x.word: x.after for x in experiment.next_tokens()}
    for number, name in LABELS.items():
        assert rows[name] == pytest.approx(float(after[most, number]), abs=1e-5)
    effects = seen_of(model).effects("PER", "LOC", position=4)
    full = model(input_ids=IDS).logits[0, 4]
    assert effects.logit_difference == pytest.approx(float(full[1] - full[2]), abs=1e-4)
    with pytest.raises(ArgumentError, match=r"a label must be one of 'O', 'PER', 'LOC', got 'ORG'"):
        seen_of(model).effects("ORG")


def test_the_label_of_a_text():
    model = bert("SequenceClassification", id2label=LABELS)
    experiment = seen_of(model).ablate(1, 1)
    assert "The label:" in str(experiment)
    after = changed(model).logits[0].softmax(-1)
    rows = {x.word: x.after for x in experiment.next_tokens()}
    assert rows == {name: pytest.approx(float(after[n]), abs=1e-5) for n, name in LABELS.items()}
    effects = seen_of(model).effects()
    full, less = model(input_ids=IDS).logits[0], changed(model).logits[0]
    one, other = effects.ids
    expected = float(full[one] - full[other] - (less[one] - less[other]))
    assert effects.by_layer["encoder", 1][1] == pytest.approx(expected, abs=1e-4)
    assert "for the text: logit difference" in " ".join(str(effects).split())
    found = seen_of(model).gradients("PER", "LOC", steps=2)
    assert found.difference == pytest.approx(float(full[1] - full[2]), abs=1e-4)
    with pytest.raises(ArgumentError, match="has one label for the whole text: leave out position"):
        seen_of(model).effects(position=3)


def test_a_llama_with_a_label():
    family = FAMILY["llama"]
    model = hf.LlamaForSequenceClassification(family.config(**family.sizes)).eval()
    experiment = seen_of(model).ablate(1, 1)
    assert "The label:" in str(experiment)
    assert [x.word for x in experiment.next_tokens()] == ["LABEL_0", "LABEL_1"]
    assert len(seen_of(model).effects().heads) == 8


def test_a_number_and_labels_that_are_judged_one_by_one():
    model = bert("SequenceClassification", num_labels=1)
    numbers = [float(x.logits[0, 0]) for x in (model(input_ids=IDS), changed(model))]
    told = f"The number: {numbers[0]:.4g} before, {numbers[1]:.4g} after."
    assert told in str(seen_of(model).ablate(1, 1))
    with pytest.raises(NotAskedError, match="a head that chooses among words or labels"):
        seen_of(model).effects()
    several = bert("SequenceClassification", id2label=LABELS,
                   problem_type="multi_label_classification")  # fmt: skip
    rows = seen_of(several).ablate(1, 1).next_tokens()
    after = changed(several).logits[0].sigmoid()
    assert {x.id: x.after for x in rows} == {
        n: pytest.approx(float(after[n]), abs=1e-5) for n in LABELS
    }


def test_the_span_of_an_answer():
    model = bert("QuestionAnswering")
    spans = []
    for output in (model(input_ids=IDS), changed(model)):
        starts, ends = (x[0].softmax(-1) for x in (output.start_logits, output.end_logits))
        first, last = max(
            ((i, j) for i in range(8) for j in range(i, 8)), key=lambda x: starts[x[0]] * ends[x[1]]
        )
        share = 100 * float(starts[first] * ends[last])
        text = Letters().decode(IDS[0, first : last + 1])
        spans.append(f"'{text}' (tokens {first} to {last}, {share:.1f} %)")
    text = " ".join(str(seen_of(model).ablate(1, 1)).split())
    assert f"The answer: {spans[0]} before, {spans[1]} after." in text


def test_a_model_without_a_head_turns_its_vectors():
    model = bert("")
    experiment = seen_of(model).ablate(1, 1)
    one, other = (x.last_hidden_state[0].double() for x in (model(input_ids=IDS), changed(model)))
    cosine = torch.nn.functional.cosine_similarity(one, other, dim=-1)
    degrees = np.degrees(np.arccos(cosine.numpy()))
    text = " ".join(str(experiment).split())
    assert f"turned by {degrees.mean():.2f} degrees on average" in text
    assert f"most that of token {degrees.argmax()}," in text
    assert not experiment.same
    values = experiment.to_dict()
    assert values["outcome"] == "vectors"
    assert "next_tokens" not in values
    again = pickle.loads(pickle.dumps(experiment))  # noqa: S301
    assert "output vectors turned" in " ".join(str(again).split())


def test_every_sentence_of_a_batch_and_a_pickled_experiment():
    model, inputs = bert("MaskedLM"), batch("left")
    with regard.watch(model, tokenizer=Letters()).ablate(1, 1) as seen:
        model(**inputs)
    text = str(pickle.loads(pickle.dumps(seen.outcome)))  # noqa: S301
    last = [int(np.flatnonzero(row)[-1]) for row in inputs["attention_mask"].numpy()]
    for sentence, at in enumerate(last):
        assert f"The word at token {at}," in text
        assert f" of sentence {sentence}:" in text


def test_a_language_model_is_asked_for_the_next_token_as_before():
    family = FAMILY["llama"]
    experiment = seen_of(family.made()).ablate(1, 1)
    with without_head(family, 1, 1):
        expected = family.made()(input_ids=IDS).logits[0, -1].softmax(-1)
    assert "The next token:" in str(experiment)
    assert experiment.next_tokens()[0].after == pytest.approx(
        float(expected[experiment.next_tokens()[0].id]), abs=1e-5
    )
    with pytest.raises(NotAskedError, match="sources needs a model that writes text"):
        seen_of(bert("MaskedLM")).sources({"a": (0, 3)}, (4, 6))
