"""Files of watched models: folders and headers to read, .regard files to keep."""
