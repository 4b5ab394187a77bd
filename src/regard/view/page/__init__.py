"""The explorer: a page on this machine that shows what attention sees; nothing leaves it."""
