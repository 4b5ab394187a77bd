"""The one way from a program to its attentions: a source that calls a reader with each of them."""
