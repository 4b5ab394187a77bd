"""A course's tests: each function of the list is a test, and every mistake in it another."""

from student_attention import attention, causal_attention

regard_attention = [attention, causal_attention]


def test_the_causal_part(regard_check):
    regard_check(causal_attention, features="causal")
