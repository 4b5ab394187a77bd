"""Any number of the steps explained: the sum that made it, and a row said in words."""
