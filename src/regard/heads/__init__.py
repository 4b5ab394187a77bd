"""What heads do: measures, uniform baselines, names, links between words."""
