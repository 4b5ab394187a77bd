"""Right code passes without a false alarm; wrong code is named, or wrong without a name."""

import numpy as np
import pytest
import torch
from tests.checker.samples import attention_right as right
from tests.checker.samples import attention_wrong as wrong

from regard.checker.check import check
from regard.engine.attention import attention
from regard.errors import ArgumentError
from regard.textbook.steps import attend

DTYPED = [
    (function, dtype)
    for function in (right.with_einsum, right.with_matmul, right.in_tiles, right.returning_both)
    for dtype in ("float32", "float16")
] + [(function, dtype) for function in right.TORCH[2:] for dtype in ("float16", "bfloat16")]


def assert_right(report):
    assert report.verdict == "right", str(report)
    assert report.mistakes == ()
    assert report.failed == ()
    assert report.raise_if_wrong() is report


@pytest.mark.parametrize("function", [*right.NUMPY, *right.TORCH], ids=lambda f: f.__name__)
def test_a_right_function_passes(function):
    assert_right(check(function))


@pytest.mark.parametrize(("function", "dtype"), DTYPED)
def test_a_right_function_passes_in_every_dtype(function, dtype):
    assert_right(check(function, dtype=dtype))


@pytest.mark.parametrize("name", right.MODULES)
def test_a_right_module_passes(name):
    assert_right(check(right.seeded(right.MODULES[name]).eval()))


def test_the_specification_and_the_engine_pass():
    def specification(query, key, value, *, mask=None, causal=False, offset=None, window=None,
                      softcap=None, scale=None, lengths=None):  # fmt: skip
        options = {"mask": mask, "causal": causal, "offset": offset, "window": window}
        return attend(query, key, value, **options, softcap=softcap, scale=scale,
                      lengths=_by_head(query, lengths)).output  # fmt: skip

    assert_right(check(specification))
    assert_right(check(attention, features=("no lengths", "no window")))


def _by_head(query, lengths):
    return None if lengths is None else np.asarray(lengths)


def test_the_report_describes_the_call():
    report = check(right.tokens_first)
    assert report.called == (
        "tokens_first(q, k, v) with NumPy float64 arrays (batch, token, head, feature); "
        "it returned output (2, 5, 3, 6)"
    )
    assert "always hides later words" in check(right.always_causal).notes[0]
    assert "last words" in check(right.always_causal_with_a_cache).notes[1]


@pytest.mark.parametrize("function", list(wrong.WRONG), ids=lambda f: f.__name__)
def test_a_mistake_in_other_styles_is_named(function):
    report = check(function, strict=True)
    assert set(report.mistakes) == set(wrong.WRONG[function]), str(report)
    assert report.verdict == "wrong"
    assert report.failed


def test_a_fault_outside_the_catalogue_is_wrong():
    report = check(wrong.not_attention)
    assert report.verdict == "wrong"
    assert report.mistakes == ()
    assert report.failed[0].name == "values"
    assert "No mistake of the catalogue" in str(report)
    assert report.confidence == "unknown"
    assert report.departure.question == "plain"
    assert report.departure.element.startswith("output[")
    assert "It departs first at the question 'plain'" in str(report)


def test_a_module_with_one_layer_for_all_three_is_read():
    torch.manual_seed(0)
    report = check(wrong.NoScale(), like="textbook")
    assert report.mistakes == ("no scaling",)
    assert "always hides later words" in report.notes[0]
    assert check(wrong.NoScale(0.5)).right


def test_the_width_of_the_input_differs_from_the_width_of_a_head():
    torch.manual_seed(0)
    assert check(wrong.OneHead(), like="textbook").mistakes == ("scaling by the model width",)


def test_a_module_with_dropout_on_is_named():
    module = torch.nn.MultiheadAttention(12, 3, dropout=0.5)
    assert check(module.train()).mistakes == ("results that differ between two calls",)
    assert check(module.eval()).right


def test_two_mistakes_that_one_size_cannot_tell_apart_are_both_said():
    class ByModelWidth(torch.nn.Module):
        """Sixteen wide, four heads: the root of the width is the width of a head."""

        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (torch.nn.Linear(16, 16) for _ in range(3))

        def forward(self, x):
            parts = (m(x) for m in (self.query, self.key, self.value))
            q, k, v = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in parts)
            return (q @ k.mT / x.shape[-1] ** 0.5).softmax(-1).matmul(v).transpose(1, 2).flatten(2)

        num_heads = 4

    report = check(ByModelWidth(), like="textbook")
    assert (report.mistakes, report.confidence) == (("scaling by d",), "likely")
    assert report.others == ("scaling by the model width",)
    assert "scaling by the model width fits as well." in str(report)


@pytest.mark.parametrize(
    "function",
    [
        lambda q, k, v: right.with_matmul(q, k, v) + 1j,
        lambda q, k, v: right.with_matmul(q, k, v).astype(complex),
        lambda q, k, v: torch.from_numpy(right.with_matmul(q, k, v)) + 1j,
        lambda q, k, v: list(right.with_matmul(q, k, v) + 0j),
    ],
)
def test_complex_results_are_wrong(function):
    report = check(function)
    assert (report.verdict, report.mistakes) == ("wrong", ("complex numbers returned",))
    assert report.failed[0].detail == (
        "it returned complex numbers; attention of real numbers is real"
    )


@pytest.mark.parametrize("smallest", [0.0, 1e-9])
def test_a_mask_after_the_softmax_that_is_divided_by_the_sum_is_named(smallest):
    def renormalised(q, k, v, mask=None):
        weights = wrong.softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, axis=-1)
        if mask is not None:
            weights = weights * mask
            weights = weights / (weights.sum(axis=-1, keepdims=True) + smallest)
        return weights @ v

    report = check(renormalised)
    assert report.verdict == "wrong"
    assert report.mistakes == ("mask after the softmax, then divided by the sum",)


def test_the_report_says_how_a_padding_mask_was_read():
    def hides(q, k, v, key_padding_mask=None):
        scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
        if key_padding_mask is not None:
            scores = np.where(key_padding_mask[:, None, None], -np.inf, scores)
        return wrong.softmax(scores, axis=-1) @ v

    def keeps(q, k, v, key_padding_mask=None):
        keep = None if key_padding_mask is None else ~key_padding_mask.astype(bool)
        return hides(q, k, v, keep)

    assert "; key_padding_mask: True hides; it returned" in check(hides).called
    assert "; key_padding_mask: True may look; it returned" in check(keeps).called


def test_a_claim_makes_a_missing_mask_a_mistake():
    report = check(right.with_matmul, features=("causal",))
    assert report.mistakes == ("causal mask ignored",)
    report = check(right.always_causal, features=("causal", "last queries"))
    assert report.mistakes == ("causal mask at the wrong corner",)
    assert check(wrong.mask_that_hides, features="mask hides").right
    assert check(wrong.nan_for_empty_rows, features=("no empty rows",)).right


def test_the_smallest_failing_input_shows_both_numbers():
    (values, *_) = check(wrong.brackets).failed
    assert values.name == "values"
    assert values.input.startswith("b=1 h=1 q=1 k=1 d=2") or "q=2 k=2 d=2" in values.input
    assert values.wrong != pytest.approx(values.right)
    assert values.element.startswith("output[")


def test_what_is_right_for_matrices_alone_is_wrong():
    def for_matrices(q, k, v):
        scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
        return wrong.softmax(scores, axis=1) @ v

    report = check(for_matrices)
    assert report.verdict == "wrong"
    assert report.mistakes == ("softmax over heads",)
    assert report.others == ("softmax over queries",)
    assert report.confidence == "likely"
    assert check(for_matrices, signature="q k v as bhtd").mistakes == ("softmax over heads",)
    assert check(for_matrices, signature="q k v as td").right


def test_a_row_that_may_see_nothing_is_a_verdict_of_its_own():
    report = check(wrong.nan_for_empty_rows)
    assert report.verdict == "right, unless a row may see nothing"
    assert (report.status, report.mistakes) == (0, ())
    assert report.caveats == ("a row that may see nothing gives NaN",)
    assert "With --strict that is a mistake." in " ".join(str(report).split())
    assert report.require() is report
    strict = check(wrong.nan_for_empty_rows, strict=True)
    assert (strict.verdict, strict.mistakes) == ("wrong", report.caveats)


def test_a_mask_that_is_never_answered_is_not_right():
    def only_without(q, k, v, mask=None):
        if mask is not None:
            raise NotImplementedError("masks come in part two")
        return right.with_matmul(q, k, v)

    report = check(only_without)
    assert (report.verdict, report.status) == ("not judged", 2)
    assert report.tried == (
        "where it gave a result it is right, but no question about its mask got one: "
        "NotImplementedError: masks come in part two. Say what it takes with signature and "
        "features, or leave it out with features=('no mask',).",
    )
    assert check(only_without, features=("no mask",)).right


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signature": "k v"}, "signature must be one of auto, q k v"),
        ({"signature": "q k v as thb"}, None),
        ({"dtype": "int8"}, "dtype must be one of float64, float32, float16, bfloat16, got"),
        ({"features": ("quick",)}, "features must be among causal, last queries"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(arguments, message):
    if message is None:
        report = check(right.with_matmul, **arguments)
        assert report.verdict == "not judged"
        assert report.tried[0].startswith("the axes after 'as' must be one of bhtd")
        return
    if "signature" in arguments:
        assert message in check(right.with_matmul, **arguments).tried[0]
        return
    with pytest.raises(ArgumentError, match=message):
        check(right.with_matmul, **arguments)


def test_a_property_that_does_not_apply_is_skipped_with_the_reason():
    (causality,) = [x for x in check(right.with_matmul).findings if x.name == "causality"]
    assert (causality.status, causality.detail) == ("skipped", "it is not causal")


def test_the_attention_inside_a_block_is_checked():
    class Encoder(torch.nn.Module):
        def __init__(self, d_model, nhead):
            super().__init__()
            self.self_attn = torch.nn.MultiheadAttention(d_model, nhead, batch_first=True)
            self.norm = torch.nn.LayerNorm(d_model)

        def forward(self, src):
            return self.norm(src + self.self_attn(src, src, src)[0])

    report = check(Encoder)
    assert report.right, str(report)
    assert report.notes[1] == "Only the attention inside is checked, not the layers around it."


def test_an_inverted_mask_is_never_certain():
    assert check(wrong.mask_that_hides).confidence == "likely"


def test_a_class_that_cannot_be_made_says_what_to_type():
    class Odd:
        def __init__(self, flavour):
            self.flavour = flavour

    assert check(Odd).tried == (
        "Odd has no method to call: name it forward or __call__, or check file.py:a_function.",
    )

    class Refusing(Odd):
        def __init__(self, flavour):
            raise TypeError("only vanilla")

    assert check(Refusing).tried == (
        "no instance of Refusing could be made (TypeError: only vanilla): add this line to the "
        "file and check attention: attention = Refusing(flavour=...)",
    )
