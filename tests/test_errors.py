"""Errors: their tree, the sentence form of their messages, and suggestions for wrong keywords."""

import inspect
import traceback

import numpy as np
import pytest

import regard
from regard import errors

X = np.eye(3)
OBSERVED = regard.observe(X, X, X)
SUGGESTED = {
    "is_causal": "causal",
    "attn_mask": "mask",
    "key_lengths": "lengths",
    "window_size": "window",
    "logit_cap": "softcap",
    "soft_cap": "softcap",
    "sm_scale": "scale",
    "top_k": "top",
    "casual": "causal",
    "recieved": "received",
}
FUNCTIONS = (
    regard.attention,
    regard.observe,
    regard.observe_from_logsumexp,
    regard.merge,
    regard.Observation.picture,
)


@pytest.mark.parametrize("wrong", SUGGESTED)
def test_a_wrong_keyword_names_the_function_and_suggests_the_right_one(wrong):
    with pytest.raises(TypeError) as error:
        regard.observe(X, X, X, **{wrong: 1})
    assert str(error.value) == (
        f"observe() got an unexpected keyword {wrong!r}; did you mean {SUGGESTED[wrong]!r}?"
    )


def test_a_keyword_like_no_other_is_answered_with_all_of_them():
    with pytest.raises(TypeError) as error:
        OBSERVED.picture(colour="red")
    assert str(error.value) == (
        "picture() got an unexpected keyword 'colour': it takes head, kind, title, words, between, "
        "chosen, threshold."
    )


def test_a_suggestion_is_a_keyword_of_the_function_that_was_called():
    with pytest.raises(TypeError, match=r"^attention\(\) got an unexpected keyword 'top_k'"):
        regard.attention(X, X, X, top_k=3)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda x: x.__name__)
def test_signatures_are_short_and_list_every_keyword(function):
    signature = inspect.signature(function)
    assert len(str(signature)) < 300
    kinds = {x.kind for x in signature.parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert list(inspect.signature(inspect.unwrap(function)).parameters) == list(
        signature.parameters
    )


def test_every_error_is_a_regard_error_and_a_built_in_one():
    kinds = [x for x in vars(errors).values() if inspect.isclass(x) and issubclass(x, Exception)]
    assert len(kinds) == 8
    for kind in kinds:
        assert issubclass(kind, errors.RegardError)
        assert kind.__name__ in errors.__doc__
        if kind is not errors.RegardError:
            assert kind.__mro__[2].__name__ in errors.__doc__


@pytest.mark.parametrize("call", [regard.load, regard.load_model, OBSERVED.save])
@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"], ids=["too long", "null"])
def test_a_name_that_no_file_can_have(call, name):
    with pytest.raises(errors.RegardError):
        call(name)


def test_the_sentence_about_such_a_name():
    with pytest.raises(errors.ArgumentError) as error:
        OBSERVED.save("a\0b")
    assert str(error.value) == "path must be a name that a file can have, got 'a\\x00b'."


def test_methods_of_a_class_name_their_arguments_too():
    with pytest.raises(errors.ArgumentError, match=r"^text must be a string, got 3"):
        regard.Transformer.random(3)


def test_a_traceback_shows_the_users_line_and_ours_where_viewers_hide_frames():
    """pytest and IPython leave out a frame that says so: there is one of the decorators."""
    with pytest.raises(errors.ArgumentError) as error:
        regard.observe(X, X, X, top="x")
    frames = [frame for frame, _ in traceback.walk_tb(error.tb)]
    between = [x for x in frames if x.f_code.co_filename.endswith("arguments.py")]
    assert [x.f_locals["__tracebackhide__"] for x in between] == [True]
