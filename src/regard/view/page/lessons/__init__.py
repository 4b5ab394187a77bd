"""The numbers of the Learn view: every page's facts, computed when the page is opened."""
