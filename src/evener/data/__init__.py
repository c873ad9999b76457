"""Read rows from files and tables, check them, and split them."""
