"""A model that stays loaded: what comes next is the model's own, before and after a change."""

import numpy.testing as npt
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")

from tests.helpers.planted_model import planted_model, planted_tokenizer  # noqa: E402

import regard  # noqa: E402
from regard.errors import ArgumentError  # noqa: E402
from regard.view.page.answers import ClientLeftError, Stop  # noqa: E402
from regard.view.page.jobs import Context  # noqa: E402
from regard.view.page.live import MAX_RUNS, LiveModel, Request  # noqa: E402
from regard.watcher.files.model_folder import Loaded  # noqa: E402

TEXT = "the lighthouse number is seven nine four . what a river sang . the lighthouse number is"
INDUCTION = {"change": "ablate", "part": "decoder", "layer": 1, "head": 0}


@pytest.fixture
def live():
    return LiveModel(Loaded(planted_model(), planted_tokenizer(), True, False), "planted", TEXT)


def likeliest(answer, when):
    return max(answer["next"], key=lambda one: one[when])["token"]


def probability(answer, token, when):
    return next(one[when] for one in answer["next"] if one["token"] == token)


def own_probabilities(ids):
    with torch.no_grad():
        return planted_model()(input_ids=ids).logits[0, -1].double().softmax(-1)


def test_what_comes_next_is_the_models_own(live):
    answer = live.read(Request(TEXT), Stop())
    assert likeliest(answer, "after") == "seven"
    tokens = planted_tokenizer()
    expected = own_probabilities(tokens(TEXT, return_tensors="pt")["input_ids"])
    for one in answer["next"]:
        token = tokens.convert_tokens_to_ids(one["token"])
        assert one["before"] == one["after"]
        # The watched forward gives the logits of the plain one; a double softmax rounds once more.
        assert one["after"] == pytest.approx(float(expected[token]), rel=1e-6)
    run = live.run(answer["run"])
    assert run.parts[0].layer(0).is_exact
    assert answer["changed"] == answer["former"] == []


def test_a_head_that_is_switched_off_is_the_ablation_of_watch(live):
    answer = live.read(Request(TEXT, changes=(INDUCTION,)), Stop())
    with regard.watch(planted_model(), tokenizer=planted_tokenizer()).ablate(1, 0) as seen:
        planted_model()(**planted_tokenizer()(TEXT, return_tensors="pt"))
    expected = {x.word: (x.before, x.after) for x in seen.outcome.next_tokens()}
    shared = [one for one in answer["next"] if one["token"] in expected]
    assert len(shared) > 2
    for one in shared:
        npt.assert_allclose((one["before"], one["after"]), expected[one["token"]], rtol=1e-6)
    assert probability(answer, "seven", "before") > 2 * probability(answer, "seven", "after")
    assert answer["changed"] == ["layer 1, head 0 is switched off"]
    assert not answer["same"]


def test_a_row_that_is_turned_copies_another_token(live):
    """The last token looks at what followed 'is'; turned to 'river', it says river."""
    words = TEXT.split()
    place = {"part": "decoder", "layer": 1, "head": 0}
    change = {"change": "redirect", "word": len(words) - 1, "to": words.index("river"), **place}
    answer = live.read(Request(TEXT, changes=(change,)), Stop())
    assert (likeliest(answer, "before"), likeliest(answer, "after")) == ("seven", "river")
    assert answer["changed"] == ["in layer 1, head 0, \u2068is\u2069 looks at \u2068river\u2069"]
    row = live.run(answer["run"]).parts[0].layer(1).row((0,), len(words) - 1).weights
    assert row[words.index("river")] == pytest.approx(1)


def test_a_token_that_is_struck_out_is_no_longer_looked_at(live):
    words = TEXT.split()
    change = {"change": "knock_out", "word": words.index("seven")}
    answer = live.read(Request(TEXT, changes=(change,)), Stop())
    assert probability(answer, "seven", "after") < probability(answer, "seven", "before") / 2
    column = live.run(answer["run"]).parts[0].layer(1).column((0,), words.index("seven")).weights
    assert column[words.index("seven") + 1 :].max() == 0
    assert answer["changed"] == ["no other token may look at \u2068seven\u2069"]


def test_what_is_written_and_what_was_written_before(live):
    plain = live.read(Request(TEXT, generate=4), Stop())
    text = live.run(plain["run"]).texts[0]
    start = plain["written"]["start"]
    assert start == len(TEXT.split())
    assert text.tokens[start:] == ("seven", "nine", "four", ".")  # all that were asked for
    changed = live.read(Request(TEXT, generate=4, changes=(INDUCTION,)), Stop())
    assert [word.strip() for word, _ in changed["former"]] == ["seven", "nine", "four", "."]
    assert any(is_gone for _, is_gone in changed["former"])
    assert changed["written"]["differing"]
    assert min(changed["written"]["differing"]) >= start


def test_the_same_text_is_read_once(live, monkeypatch):
    first = live.read(Request(TEXT), Stop())
    monkeypatch.setattr(LiveModel, "_run", lambda *_: pytest.fail("it was run again"))
    assert live.read(Request(TEXT), Stop()) == first


def test_old_runs_go(live):
    first = live.read(Request("the river"), Stop())["run"]
    for number in range(MAX_RUNS):
        live.read(Request(f"the river {'sang ' * (number + 1)}".strip()), Stop())
    with pytest.raises(ArgumentError, match="this run is no longer in memory: run the text again"):
        live.run(first)


def test_a_reader_who_leaves_ends_the_run_and_the_model_is_as_before(live):
    gone = Stop()
    gone.set()
    with pytest.raises(ClientLeftError):
        live.read(Request(TEXT, generate=8), gone)
    assert live.progress.total == 0
    assert likeliest(live.read(Request(TEXT), Stop()), "after") == "seven"


def test_progress_counts_layers(live, monkeypatch):
    counted = []
    step = Stop.check
    monkeypatch.setattr(
        Stop, "check", lambda self: (counted.append((live.progress.done, live.progress.total)),
                                     step(self))
    )  # fmt: skip
    live.read(Request(TEXT, generate=3), Stop())
    # Two layers, four calls: that of the text, and one for each token that was written.
    assert counted == [(done, 8) for done in range(1, 9)]


def test_a_model_that_only_reads_shows_what_turned():
    torch.manual_seed(0)
    config = hf.BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, intermediate_size=16,
                           num_attention_heads=2)  # fmt: skip
    model = hf.BertModel(config).eval()
    live = LiveModel(Loaded(model, planted_tokenizer(), False, False), "bert")
    change = {"change": "ablate", "part": "encoder", "layer": 0, "head": 1}
    answer = live.read(Request("the river sang", changes=(change,)), Stop())
    assert answer["next"] == []
    (at, turned), *_ = answer["moved"]
    tokens = planted_tokenizer()("the river sang", return_tensors="pt")
    with torch.no_grad():
        before = model(**tokens).last_hidden_state[0, at].double()
        with regard.watch(model).ablate(0, 1):
            after = model(**tokens).last_hidden_state[0, at].double()
    cosine = float(before @ after / before.norm() / after.norm())
    assert turned == pytest.approx(1 - cosine, rel=1e-9)


def test_wrong_requests_are_told(live):
    with pytest.raises(ArgumentError, match=r"the text must have 1 to 64 tokens, as many as"):
        live.read(Request("river " * 80), Stop())
    with pytest.raises(ArgumentError, match="generate must be 0-500, got 501"):
        Request.from_fields({"text": "x", "generate": 501}, "")
    with pytest.raises(ArgumentError, match="a change must be one of knock_out, ablate, redirect"):
        Request.from_fields({"text": "x", "changes": [{"change": "patch"}]}, "")
    far = {"change": "knock_out", "word": 99}
    with pytest.raises(ArgumentError, match=r"a span must be \(start, stop\) in tokens"):
        live.read(Request(TEXT, changes=(far,)), Stop())


def test_the_page_asks_for_it(live, connect):
    with connect(Context(model=live)) as client:
        assert client.post("/api/page", json={}).json()["model"] == "planted"
        about = client.post("/api/model/about", json={}).json()
        assert (about["kind"], about["writes"], about["text"]) == ("GPT2LMHeadModel", True, TEXT)
        answer = client.post("/api/model/read", json={"changes": [INDUCTION]}).json()
        run = client.post("/api/map/about", json={"run": answer["run"]}).json()
        assert run["parts"][0]["layers"][1]["heads"] == ["0", "1"]
        assert client.post("/api/model/progress", json={}).json() == {
            "doing": "", "done": 0, "total": 0,
        }  # fmt: skip
        told = client.post("/api/map/about", json={"run": "no such run"}).json()
        assert told == {"error": "this run is no longer in memory: run the text again."}


def test_without_a_model_the_page_is_told(client):
    answer = client.post("/api/model/read", json={"text": "x"})
    assert answer.json() == {
        "error": "no model is loaded: start the page with regard open --model."
    }


ODD = [None, True, -1, 2**70, "x", [], {}, [[]], [{"change": []}], [{"change": "ablate"}]]


@pytest.mark.parametrize("name", ["text", "generate", "chat", "changes"])
def test_odd_fields_are_answered_by_a_sentence(live, connect, name):
    with connect(Context(model=live)) as client:
        for value in ODD:
            answer = client.post("/api/model/read", json={"text": "the river", name: value})
            assert answer.status_code in (200, 400), value
