"""Specification of attention: from vectors to output, every number kept and explained."""
