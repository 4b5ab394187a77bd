"""A survey to look at: a page for the browser, a few lines for the terminal."""

from regard.view.survey.page import page
from regard.view.survey.terminal import summary

__all__ = ["page", "summary"]
