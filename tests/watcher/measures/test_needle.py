"""Retrieval heads and agreement with links, in heads built by hand and against plain loops."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import tokenizers
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES
from tests.helpers.planted_model import SPECIAL, planted_model, planted_tokenizer

import regard
from regard.errors import ArgumentError, FileError
from regard.text.link_file import LabelledLink, LinkedSentence, read_links
from regard.watcher.measures.needle import DEFAULT_NEEDLE as NEEDLE
from regard.watcher.measures.needle import DEFAULT_QUESTION as QUESTION
from regard.watcher.measures.needle import NeedleTask, NeedleText

FAMILY = {family.name: family for family in FAMILIES}
HAYSTACK = "a river sang to old hills . while green boats slept in rain ."
TASK = {"needle": "the lighthouse number is seven nine four .", "question": "what number is",
        "answer": "seven nine four", "depths": (0.0, 0.5, 1.0)}  # fmt: skip

# The model's kernel gives its log-sum-exps in float32: up to 512 they are that far apart.
STEP = 2.0**-15


def planted():
    return regard.watch(planted_model(), tokenizer=planted_tokenizer())


@pytest.fixture(scope="module")
def report():
    return planted().needle(HAYSTACK, **TASK)


def test_the_planted_induction_head_retrieves(report):
    first = report.heads[0]
    assert (first.part, first.layer, first.head) == ("decoder", 1, 0)
    assert (first.copied, first.by_depth) == (1.0, (1.0, 1.0, 1.0))
    assert first.weight == pytest.approx(1, abs=STEP)
    assert report.answered == (1.0, 1.0, 1.0)
    assert [head.copied for head in report.heads[1:]] == [0.0] * 3
    assert report.answer == ("seven", "nine", "four")


def test_scores_are_those_of_every_weight(report):
    """Weights of the model's eager attention, and even ones, put into the definitions."""
    tokenizer, model = planted_tokenizer(), planted_model()
    words = HAYSTACK.split()
    sums = {}
    for at in (0, 7, 14):  # two sentences of seven words: before, between and after them
        text = [*words[:at], *TASK["needle"].split(), *words[at:], "what", "number", "is"]
        needle, rows = range(at, at + 8), range(len(text) - 1, len(text) + 2)
        text += TASK["answer"].split()
        model.set_attn_implementation("eager")
        with torch.no_grad():
            ids = torch.tensor([tokenizer.convert_tokens_to_ids(text)])
            mask = torch.ones_like(ids)
            layers = model(ids, attention_mask=mask, output_attentions=True).attentions
        model.set_attn_implementation("sdpa")
        weights = torch.cat([x[0] for x in layers]).double().numpy()  # two heads of two layers
        even = np.tri(len(text)) / np.arange(1, len(text) + 1)[:, None]
        for number, head in enumerate([*weights, even]):
            for row in rows:
                target = [k for k in needle if text[k] == text[row + 1]]
                copied = head[row, target].sum() if number == 4 else head[row].argmax() in target
                both = sums.setdefault(number, [])
                both.append((float(copied), head[row, list(needle)].sum()))
    means = {number: np.mean(both, axis=0) for number, both in sums.items()}
    assert len(sums[0]) == 9
    for head in report.heads:
        copied, weight = means[2 * head.layer + head.head]
        assert head.copied == copied
        assert head.weight == pytest.approx(weight, abs=STEP)
        chances = head.copied_baseline, head.weight_baseline
        np.testing.assert_allclose(chances, means[4], rtol=0, atol=1e-12)


def test_a_report_as_text_and_as_values(report):
    text = str(report)
    assert text.startswith("A needle at 0 %, 50 %, 100 % of 28 tokens; the answer: seven nine four")
    assert "The model itself gives so much of the answer: 100 %, 100 %, 100 %." in text
    assert "decoder 1.0  100.0 %    3.8 %  100.0 %" in text
    assert max(map(len, text.splitlines())) <= 80
    values = json.loads(json.dumps(report.to_dict()))
    assert values["heads"][0]["by_depth"] == [1.0, 1.0, 1.0]


def test_without_the_head_the_model_does_not_answer():
    report = planted().ablate(1, 0).needle(HAYSTACK, **TASK)
    assert report.answered == (0.0, 0.0, 0.0)


def test_without_a_text_our_own_is_cut_to_what_the_model_can_read():
    report = planted().needle(**TASK)
    assert 14 < report.tokens <= 64
    assert report.heads[0].copied == 1.0


def test_a_window_that_does_not_reach_the_needle_has_no_chance():
    model = FAMILY["mistral"].made()
    watching = regard.watch(model, tokenizer=planted_tokenizer())
    report = watching.needle(HAYSTACK, **(TASK | {"depths": (0.0,)}))
    assert {(head.weight, head.weight_baseline) for head in report.heads} == {(0.0, 0.0)}


def trained_tokenizer(kind):
    """Pieces that carry the blank before them, as in GPT-2, or begin every text with one."""
    plain = tokenizers.Tokenizer(tokenizers.models.BPE())
    if kind == "bytes":
        plain.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        plain.decoder = tokenizers.decoders.ByteLevel()
    else:
        plain.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        plain.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=["<s>"],
                                             show_progress=False)  # fmt: skip
    plain.train_from_iterator([f"{NEEDLE} {QUESTION} a b c {HAYSTACK}"] * 9, trainer)
    plain.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    return hf.PreTrainedTokenizerFast(tokenizer_object=plain, **SPECIAL)


@pytest.mark.parametrize("kind", ["bytes", "blanks"])
@pytest.mark.parametrize("depth", [0.0, 0.5, 1.0])
def test_a_text_is_put_together_as_if_it_were_written(kind, depth):
    tokenizer = trained_tokenizer(kind)
    watching = SimpleNamespace(model=None, tokenizer=tokenizer)
    task = NeedleTask(HAYSTACK, NEEDLE, QUESTION, "seven nine four", (depth,))
    text = NeedleText.at_depth(watching, task, depth)
    words = HAYSTACK.split()
    at = {0.0: 0, 0.5: 7, 1.0: 14}[depth]
    written = " ".join([*words[:at], NEEDLE, *words[at:], QUESTION, "seven nine four"])
    assert tokenizer.decode(text.ids[1:]).strip() == written
    start = tokenizer.encode(f" {written}" if kind == "bytes" else written)
    assert text.ids.tolist() == start
    assert tokenizer.decode(text.ids[slice(*text.needle)]).strip() == NEEDLE
    rows = np.arange(*text.rows)
    assert text.ids[rows + 1].tolist() == text.answer.tolist()
    assert tokenizer.decode(text.answer).strip() == "seven nine four"


def without_numbers():
    tokenizer = planted_tokenizer()
    tokenizer.add_special_tokens({"unk_token": "again"})
    return regard.watch(planted_model(), tokenizer=tokenizer)


@pytest.mark.parametrize(
    ("watching", "task", "words"),
    [
        (planted, {"answer": "ten"}, "the answer must be part of the needle: 'ten' is not in "
         "'the lighthouse number is seven nine four .'."),
        (without_numbers, {"needle": "the lighthouse number is twelve .", "answer": "twelve"},
         "the answer must be words that the tokenizer knows, and it does not know all of 'twelve': "
         "choose a needle in the model's own vocabulary."),
        (planted, {"haystack": HAYSTACK * 4}, "the text with needle, question and answer must have "
         "at most 64 tokens, as many as GPT2LMHeadModel can read, got 70."),
        (lambda: regard.watch(FAMILY["bert"].made(), tokenizer=planted_tokenizer()), {},
         "needle needs a model that reads from left to right, and this one has encoder."),
        (lambda: regard.watch(planted_model()), {},
         "needle needs the model's tokenizer: watch(model, tokenizer=...)."),
        (planted, {"depths": (2,)}, "depths must be numbers from 0 to 1, got (2,)."),
    ],
)  # fmt: skip
def test_what_has_no_needle(watching, task, words):
    with pytest.raises(ArgumentError) as raised:
        watching().needle(**({"haystack": HAYSTACK} | TASK | task))
    assert str(raised.value) == words


CONLLU = """# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\t_\t_\t3\taux\t_\tSpaceAfter=No
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

1\tRain\train\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tsang\tsing\tVERB\t_\t_\t0\troot\t_\t_
"""


def test_a_dependency_file(tmp_path):
    path = tmp_path / "some.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    one, other = read_links(path)
    assert one.text == "Don't go."
    assert one.words == ("Do", "n't", "go", ".")
    assert one.links == ((0, 2, "aux"), (1, 2, "advmod"), (3, 2, "punct"))
    assert other.text == "Rain sang"


def test_a_table_of_links(tmp_path):
    path = tmp_path / "links.tsv"
    text = "# text = The dog saw the cat, it ran.\nit\tdog\tcoreference\nthe#2\tcat\n6\t0\n"
    path.write_text(text, encoding="utf-8")
    (sentence,) = read_links(path)
    assert sentence.links == ((6, 1, "coreference"), (3, 4, "link"), (6, 0, "link"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("it\tdog\n", "line 1: a sentence must have ten columns as in CoNLL-U, or a line '# text "
         "= ...' before its links."),
        ("# text = a dog\na\n", "line 2: a link must be two words and an optional label with tabs "
         "between, got 1 columns."),
        ("# text = a dog a\na\tdog\n", "line 2: must name one word of the sentence, got 'a', which "
         "occurs 2 times: write a#1."),
        ("# text = a dog\ncat\tdog\n", "line 2: must name one word of the sentence, got 'cat', "
         "which is not in it."),
        ("1\tRain\t_\t_\t_\t_\tx\tnsubj\t_\t_\n", "line 1: a word must have its number and the "
         "number of its head, got '1' and 'x'."),
    ],
)  # fmt: skip
def test_a_file_that_has_no_links(tmp_path, text, message):
    path = tmp_path / "links.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as raised:
        read_links(path)
    assert str(raised.value) == f"{path}, {message}"


def test_files_that_are_none(tmp_path):
    path = tmp_path / "empty.tsv"
    path.write_text("\n# text = a dog\n", encoding="utf-8")
    with pytest.raises(FileError) as raised:
        read_links(path)
    assert str(raised.value) == (
        f"{path} must contain links, got none: write CoNLL-U, or '# text = ...' and below it two "
        "words per line with a tab between them."
    )
    with pytest.raises(FileError, match="cannot be read as a file of links: No such file"):
        read_links(tmp_path / "none.tsv")


def test_planted_heads_agree_with_their_links():
    text = "the river sang . the boats slept . the river slept . a river sang again ."
    words = tuple(text.split())
    before = [LabelledLink(i, i - 1, "before") for i in range(1, len(words))]
    after = LabelledLink(10, 6, "after")  # fewer than ten of them: no line of their own
    sentences = [LinkedSentence(text, words, (*before, after))] * 2
    agreement = planted().link_agreement(sentences)
    row = agreement.row("before")
    assert tuple(row.best) == ("decoder", 0, 0)
    assert (row.accuracy, row.second_half, row.baseline, row.offset) == (1.0, 1.0, 1.0, -1)
    assert agreement.hidden == 2 * 17  # every link has a way to a later word
    with pytest.raises(ArgumentError) as raised:
        agreement.row("after")
    assert str(raised.value) == ("label must be one of 'all links', 'before', got 'after'.")


def test_agreement_is_that_of_a_loop_over_every_weight():
    """A BERT with random parameters; two tokens before and after each sentence are no words."""
    model, tokenizer = FAMILY["bert"].made(), planted_tokenizer()
    rng = np.random.default_rng(0)
    sentences = []
    for text in (HAYSTACK, TASK["needle"], "nobody counted their names again ."):
        words = tuple(text.split())
        pairs = [rng.choice(len(words), 2, replace=False) for _ in range(9)]
        links = tuple(LabelledLink(int(a), int(b), "made") for a, b in pairs)
        sentences.append(LinkedSentence(f"<s> {text}", words, links))
    agreement = regard.watch(model, tokenizer=tokenizer).link_agreement(sentences)
    hits, offsets = [], []
    model.set_attn_implementation("eager")
    for sentence in sentences:
        ids = tokenizer(sentence.text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            layers = model(ids, output_attentions=True).attentions
        weights = torch.cat([x[0] for x in layers]).double().numpy()[:, 1:, 1:]
        for link in sentence.links:
            rows = weights[:, link.query].copy()
            rows[:, link.query] = -1
            hits.append(rows.argmax(-1) == link.key)
            offsets.append(link.key - link.query)
    model.set_attn_implementation("sdpa")
    row = agreement.row("made")
    np.testing.assert_allclose(row.accuracy_h, np.mean(hits, axis=0), rtol=0, atol=1e-12)
    assert row.accuracy == row.accuracy_h.max()
    assert row.baseline == max(offsets.count(x) for x in offsets) / len(offsets)
    even = np.array([True] * 9 + [False] * 9 + [True] * 9)
    chosen = np.array(hits)[even].mean(axis=0).argmax()
    assert row.second_half == np.array(hits)[~even, chosen].mean()
    text = str(agreement)
    assert text.startswith("Links of 3 sentences in 8 heads.")
    assert max(map(len, text.splitlines())) <= 80
    assert len(json.loads(json.dumps(agreement.to_dict()))["rows"]) == 4


def test_sentences_whose_words_the_tokens_do_not_spell_are_left_out():
    unknown = LinkedSentence("a riverbank", ("a", "riverbank"), (LabelledLink(1, 0, "x"),))
    known = LinkedSentence("a river", ("a", "river"), (LabelledLink(1, 0, "x"),))
    with pytest.raises(ArgumentError) as raised:
        planted().link_agreement([unknown])
    assert str(raised.value) == (
        "link_agreement needs sentences whose tokens spell their words character by character, "
        "and words that can be seen, and there is none: 'a riverbank'."
    )
    agreement = planted().link_agreement([unknown, known])
    assert (agreement.sentences, agreement.misspelt) == (1, ("a riverbank",))
    assert agreement.row().links == 1
    assert "1 sentence left out: other tokens than words." in str(agreement)
