"""Other people's models: what any Hugging Face model attends to, while it runs as ever."""
