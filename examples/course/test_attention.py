"""Tests of a course: each listed function is a test, and so is each mistake found in it."""

from student_attention import attention, causal_attention

regard_attention = [attention, causal_attention]


def test_the_causal_part(regard_check):
    regard_check(causal_attention, features="causal")
