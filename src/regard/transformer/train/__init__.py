"""Training, in PyTorch: the only folder of the transformer that imports torch."""
