"""One sequence over several processes, each with a slice of the tokens, on torch.distributed."""
