"""The head of the shipped model that the page opens with: the one for pronouns."""

from regard.transformer.checkpoint import SHIPPED
from regard.transformer.roles import load_roles

LAYER, HEAD = load_roles(SHIPPED).pronoun_heads[0]
HEAD_NAME = f"layer {LAYER}, head {HEAD}"
