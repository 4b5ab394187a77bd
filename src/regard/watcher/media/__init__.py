"""Images and sound of a watched model: patches on a picture, positions in seconds."""
