"""Measures of the heads of a watched model: reports, sinks, clusters, links, needles."""
