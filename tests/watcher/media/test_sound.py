"""Sound: the time axis in seconds, and times of words from heads that follow it."""

import itertools

import numpy as np
import pytest
import tokenizers
import torch
import transformers as hf
from tests.helpers.media_models import recipes
from tests.helpers.watching import seen_by

import regard
from regard.cli import main
from regard.errors import ArgumentError, NotAskedError
from regard.text.words import TokenizedText
from regard.watcher.media.sound import segments

SYMBOLS, SLOTS, SLOT = 6, 6, 4  # kinds of tones, tones of a sound, positions of each
BANDS, POSITIONS = 8, SLOTS * SLOT
START, FIRST = 3, 4  # tokens: the start of a transcript, and the first tone
WHISPER = {"vocab_size": FIRST + SYMBOLS, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
           "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32,
           "decoder_ffn_dim": 32, "max_source_positions": POSITIONS, "max_target_positions": 16,
           "num_mel_bins": BANDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
           "decoder_start_token_id": START, "suppress_tokens": None,
           "begin_suppress_tokens": None, "dropout": 0.0, "init_std": 0.1}  # fmt: skip


class Tones:
    """A tokenizer of tones."""

    all_special_ids = (0, 1, 2, START)

    def convert_ids_to_tokens(self, token):
        return "<|start|>" if token == START else f"\u2581tone{token}"

    def convert_tokens_to_string(self, pieces):
        return "".join(piece.replace("\u2581", " ") for piece in pieces)


class Processor:
    """A tokenizer and a feature extractor of 10 milliseconds a frame."""

    tokenizer = Tones()
    feature_extractor = hf.WhisperFeatureExtractor(feature_size=BANDS, hop_length=160)


def sounds(number, seed):
    """Tones one after another, each a band of its own for four positions; and their tokens."""
    tones = np.random.default_rng(seed).integers(0, SYMBOLS, (number, SLOTS))
    frames = np.repeat(tones, 2 * SLOT, axis=1)  # two frames make a position
    features = np.zeros((number, BANDS, frames.shape[1]), np.float32)
    features[np.arange(number)[:, None], frames, np.arange(frames.shape[1])[None]] = 1
    ends = np.full((number, 1), 2)
    return torch.tensor(features), torch.tensor(np.concatenate([tones + FIRST, ends], axis=1))


@pytest.fixture(scope="module")
def whisper():
    """A model of one layer, trained to write the tones that it hears."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # products this small only wait for a second one
    torch.manual_seed(0)
    model = hf.WhisperForConditionalGeneration(hf.WhisperConfig(**WHISPER))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(300):
        features, labels = sounds(32, step)
        loss = model(input_features=features, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss < 0.02:
            break
    torch.set_num_threads(threads)
    return model.eval()


def watched(model, seed=1000, **options):
    features, labels = sounds(1, seed)
    tokens = torch.cat([torch.tensor([[START]]), labels[:, :-1]], dim=1)
    seen = seen_by(model, {"input_features": features, "decoder_input_ids": tokens}, **options)
    return seen, labels


def test_times_of_a_model_that_learned_to_listen(whisper, tmp_path):
    """Every tone at its time, up to a position on either side: 20 milliseconds each."""
    for seed in range(1000, 1005):
        seen, labels = watched(whisper, seed, processor=Processor())
        seen.save(tmp_path / "sound.regard")
        for one in (seen, regard.load(tmp_path / "sound.regard")):
            times = one.word_times()
            names = [f"tone{token}" for token in labels[0, :-1].tolist()]
            assert [word.word for word in times.words] == names
            starts = [word.start for word in times.words]
            expected = np.arange(SLOTS) * SLOT * 0.02
            np.testing.assert_allclose(starts, expected, rtol=0, atol=0.02 + 1e-9)
            assert times.heads[0].monotonicity > 0.3
            assert times.to_dict()["seconds"] == pytest.approx(0.02)
            assert one.tokens[:2] == ("0.00 s", "0.02 s")
            np.testing.assert_allclose(one.seconds(part="cross"), np.arange(POSITIONS) * 0.02)
    assert str(times).splitlines()[1].endswith(f"  {names[0]}")
    features, labels = sounds(1, 1001)
    mask = torch.ones(1, features.shape[-1], dtype=torch.long)
    with torch.no_grad(), regard.watch(whisper, processor=Processor()) as seen:
        written = whisper.generate(input_features=features, attention_mask=mask)
    assert written[0].tolist() == labels[0, :-1].tolist()
    starts = [word.start for word in seen.word_times().words]
    np.testing.assert_allclose(starts, expected, rtol=0, atol=0.02 + 1e-9)


def test_a_model_that_has_not_learned_follows_nothing():
    torch.manual_seed(5)
    model = hf.WhisperForConditionalGeneration(hf.WhisperConfig(**WHISPER)).eval()
    seen, _ = watched(model, tokenizer=Tones())
    assert seen.tokens[:2] == ("0", "1")
    with pytest.raises(NotAskedError) as unknown:
        seen.word_times()
    assert str(unknown.value) == (
        "seconds need the rate of the samples, which the model's processor knows: give it to "
        "watch, as in watch(model, processor=processor), or say it: seconds=0.02 for every "
        "position of the encoder."
    )
    with pytest.raises(NotAskedError, match=r"no head follows the sound: the best, layer 0 head"):
        seen.word_times(seconds=0.02)
    assert len(seen.word_times(seconds=0.02, heads=[(0, 1)]).words) == SLOTS
    with pytest.raises(ArgumentError) as wrong:
        seen.word_times(seconds=0.02, heads=[(3, 1)])
    assert str(wrong.value) == (
        "heads must be (layer, head) of cross-attention, counted from 0, got [(3, 1)]."
    )
    with pytest.raises(ArgumentError) as short:
        seen.word_times(seconds=0.02, duration=0.06)
    assert str(short.value) == (
        "word_times needs at least as many positions of sound as tokens, got 3 for 6 tokens."
    )


class PlantedCross(torch.nn.Module):
    """Cross-attention whose weights are given, written by hand."""

    def __init__(self, weights):
        super().__init__()
        self.num_heads = weights.shape[0]
        self.cross_attn = torch.nn.Identity()
        self.scores = torch.log(torch.tensor(weights)[None])

    def forward(self, value):
        return torch.matmul(torch.softmax(self.scores, dim=-1), value)


class Planted(torch.nn.Module):
    """One layer of it, under the name of cross-attention."""

    def __init__(self, weights):
        super().__init__()
        self.cross_attn = PlantedCross(weights)

    def forward(self, value):
        return self.cross_attn(value)


EDGES = [0, 2, 9, 12, 20, 30]


def planted(rows=5, keys=30):
    """Heads of five rows: in order, in reverse, a sink, even, and in order above a sink."""
    noise = 1e-3
    order = np.full((rows, keys), noise)
    for row, (low, high) in enumerate(itertools.pairwise(EDGES)):
        order[row, low:high] = 1 / (high - low)
    sink = np.full((rows, keys), noise)
    sink[:, 7] = 1
    heads = [order, order[::-1], sink, np.ones((rows, keys)), 0.6 * order + 0.4 * sink]
    weights = np.stack(heads)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_planted_heads_are_told_apart():
    weights = planted()
    model = Planted(weights)
    seen = seen_by(model, torch.ones(1, len(weights), 30, 2, dtype=torch.float64))
    times = seen.word_times(seconds=0.5, first=1)
    assert [(x.layer, x.head) for x in times.heads] == [(0, 0), (0, 4)]
    # The first row writes the first token, so that the last piece belongs to what comes after.
    assert [(x.start, x.end) for x in times.words] == [
        (0.5 * low, 0.5 * high) for low, high in itertools.pairwise(EDGES[:-1])
    ]
    share = times.heads[0]
    assert share.in_order == pytest.approx(
        np.mean([weights[0, q, a:b].sum() for q, (a, b) in enumerate(itertools.pairwise(EDGES))])
    )  # fmt: skip


def best_by_trying(weights_qk):
    """The largest sum over all ways to cut the keys into a piece for each row."""
    from itertools import combinations

    rows, keys = weights_qk.shape
    cuts = [(0, *inner, keys) for inner in combinations(range(1, keys), rows - 1)]
    return max(
        sum(weights_qk[q, a:b].sum() for q, (a, b) in enumerate(itertools.pairwise(cut)))
        for cut in cuts
    )


def test_pieces_are_the_best_of_all():
    weights_hqk = np.random.default_rng(0).random((6, 4, 9))
    shares_h, edges_hq = segments(weights_hqk)
    for weights_qk, share, edges in zip(weights_hqk, shares_h, edges_hq, strict=True):
        assert share * 4 == pytest.approx(best_by_trying(weights_qk))
        pieces = enumerate(itertools.pairwise(edges))
        assert sum(weights_qk[q, a:b].sum() for q, (a, b) in pieces) == pytest.approx(share * 4)
        assert edges[0] == 0
        assert (np.diff(edges) > 0).all()


def test_padding_is_left_out(whisper):
    """Half of the frames are padding, as the mask of the features says."""
    features, labels = sounds(1, 7)
    tokens = torch.cat([torch.tensor([[START]]), labels[:, :2]], dim=1)
    mask = torch.zeros(1, features.shape[-1], dtype=torch.long)
    mask[:, : features.shape[-1] // 2] = 1
    seen = seen_by(
        whisper,
        {"input_features": features, "attention_mask": mask, "decoder_input_ids": tokens},
        processor=Processor(),
    )
    assert seen._source.real_positions(POSITIONS, 0) == POSITIONS // 2
    assert seen.word_times().words[-1].end <= 0.02 * POSITIONS / 2


def test_samples_and_the_strides_of_convolutions():
    config = hf.Wav2Vec2Config(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
        conv_dim=[8, 8], conv_stride=[5, 2], conv_kernel=[10, 3], num_feat_extract_layers=2,
        num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    model = hf.Wav2Vec2Model(config).eval()
    extractor = hf.Wav2Vec2FeatureExtractor(sampling_rate=1000)
    seen = seen_by(model, {"input_values": torch.zeros(1, 400)}, processor=extractor)
    assert seen.tokens[-1] == "0.38 s"  # 39 positions of ten samples
    np.testing.assert_allclose(seen.seconds()[:3], [0, 0.01, 0.02])
    with pytest.raises(NotAskedError) as refused:
        seen.word_times()
    assert str(refused.value) == "word_times needs cross-attention to sound, and none was seen."


def test_a_text_without_words():
    from regard.watcher.media.sound import _text_span

    text = TokenizedText(("<|a|>",), ("<|a|>",), ("<|a|>",), (0,))
    with pytest.raises(ArgumentError) as refused:
        _text_span(text, None)
    assert str(refused.value) == ("word_times needs a text after the first token, got '<|a|>'.")


@pytest.mark.parametrize("command", ["watch", "survey"])
def test_a_folder_of_a_model_of_sound(command, tmp_path, capsys):
    """One sentence from both commands that read text."""
    folder = tmp_path / "whisper"
    hf.WhisperForConditionalGeneration(hf.WhisperConfig(**WHISPER)).save_pretrained(folder)
    words = tokenizers.models.WordLevel({"a": 0, "tone": 1}, "a")
    plain = hf.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(words))
    plain.save_pretrained(folder)
    (tmp_path / "corpus.txt").write_text("a tone\n")
    arguments = {
        "watch": [str(folder), "a tone"],
        "survey": [str(tmp_path / "corpus.txt"), "--model", str(folder),
                   "--out", str(tmp_path / "out")],
    }  # fmt: skip
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([command, *arguments[command]])
    assert ended.value.code == 2
    message = " ".join(capsys.readouterr().err.split())
    assert message.endswith(
        f"{folder} cannot be loaded as a model: a model of type 'whisper' takes sound, not text. "
        "Watch it in Python, as docs/watch-details.md shows: regard.watch(model, "
        "processor=processor)."
    )


class Listening(Processor):
    """A processor whose features are those of the tones."""

    def __call__(self, sound, **options):
        assert options["sampling_rate"] == 16000
        mask = torch.ones(1, sound.shape[-1], dtype=torch.long)
        return {"input_features": sound, "attention_mask": mask}


def test_the_recipe(whisper, capsys):
    """The example of docs/watch-details.md, with the model that learned to listen."""
    names = {"regard": regard, "model": whisper, "processor": Listening(), "sound": sounds(1, 3)[0]}
    (recipe,) = recipes("Sound")
    with torch.no_grad():
        exec(compile(recipe, "watch-details.md", "exec"), names)  # noqa: S102 (our own page)
    assert "Heads of cross-attention in order: 0." in capsys.readouterr().out
