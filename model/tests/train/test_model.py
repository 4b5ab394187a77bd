"""The model in PyTorch: what a position may see, padding, decoding step by step, NumPy's twin."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")

import torch

from regard.text.tokens import WordTokenizer
from regard.transformer.config import END, PAD, Config, random_parameters
from regard.transformer.model import Transformer
from regard.transformer.search import Search
from train.decoding import TorchStepDecoder, beam_search
from train.model import logits, to_torch

CONFIG = Config(vocabulary=30, layers=2, heads=2, width=16, feed_forward_width=24)
PARAMETERS = random_parameters(CONFIG, seed=3)
SOURCE_BT = torch.tensor([[5, 6, 7, 8, END], [9, 10, END, PAD, PAD]])
GIVEN_BT = torch.tensor([[2, 11, 12, 13], [2, 14, 15, 16]])


@pytest.mark.parametrize("row", [0, 1])
def test_numpy_and_torch_give_the_same_logits(row):
    model = Transformer.from_parameters(
        CONFIG, PARAMETERS, WordTokenizer.from_text("I am good"), {}
    )
    source_bt, given_bt = SOURCE_BT[row : row + 1, : 5 - 2 * row], GIVEN_BT[row : row + 1]
    theirs = logits(to_torch(PARAMETERS), CONFIG, source_bt, given_bt)
    ours = model.logits(source_bt.numpy(), given_bt.numpy())
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_padding_changes_nothing():
    parameters = to_torch(PARAMETERS)
    together = logits(parameters, CONFIG, SOURCE_BT, GIVEN_BT)
    alone = logits(parameters, CONFIG, SOURCE_BT[1:, :3], GIVEN_BT[1:])
    torch.testing.assert_close(together[1:], alone)


def test_a_position_knows_nothing_of_what_follows():
    parameters = to_torch(PARAMETERS)
    changed = GIVEN_BT.clone()
    changed[:, 2:] = 20
    before = logits(parameters, CONFIG, SOURCE_BT, GIVEN_BT)
    after = logits(parameters, CONFIG, SOURCE_BT, changed)
    torch.testing.assert_close(before[:, :2], after[:, :2])
    assert not torch.allclose(before[:, 2:], after[:, 2:])


@torch.no_grad()
def test_token_by_token_equals_all_at_once():
    parameters = to_torch(PARAMETERS)
    whole_btv = logits(parameters, CONFIG, SOURCE_BT, GIVEN_BT).log_softmax(-1)
    decoder = TorchStepDecoder(parameters, CONFIG, SOURCE_BT, beams=1)
    for position in range(GIVEN_BT.shape[1]):
        step_bv = decoder.next_scores(GIVEN_BT[:, position])
        torch.testing.assert_close(step_bv, whole_btv[:, position])


@torch.no_grad()
def test_one_beam_is_greedy():
    parameters = to_torch(PARAMETERS)
    best = beam_search([parameters], CONFIG, SOURCE_BT, Search(beams=1))
    given_bt = torch.full((2, 1), 2)
    for _ in range(3):
        next_bv = logits(parameters, CONFIG, SOURCE_BT, given_bt)[:, -1]
        next_bv[:, PAD] = -torch.inf
        given_bt = torch.cat([given_bt, next_bv.argmax(-1, keepdim=True)], dim=1)
    for one, given in zip(best, given_bt[:, 1:].tolist(), strict=True):
        tokens = given[: given.index(END)] if END in given else given
        assert list(one.tokens[:3]) == tokens


@torch.no_grad()
def test_two_equal_models_decode_as_one():
    parameters = to_torch(PARAMETERS)
    alone = beam_search([parameters], CONFIG, SOURCE_BT)
    both = beam_search([parameters, parameters], CONFIG, SOURCE_BT)
    assert [one.tokens for one in alone] == [one.tokens for one in both]
    assert [one.score for one in alone] == pytest.approx([one.score for one in both])


@torch.no_grad()
def test_a_score_is_the_mean_log_probability_of_the_tokens():
    parameters = to_torch(PARAMETERS)
    best = beam_search([parameters], CONFIG, SOURCE_BT, Search(beams=3))
    for source_t, one in zip(SOURCE_BT, best, strict=True):
        tokens = [*one.tokens, *([END] if one.finished else [])]
        given = torch.tensor([[2, *tokens[:-1]]])
        scores_tv = logits(parameters, CONFIG, source_t[None], given).log_softmax(-1)[0]
        mean = scores_tv[range(len(tokens)), tokens].mean()
        assert one.score == pytest.approx(mean.item(), rel=1e-5)
