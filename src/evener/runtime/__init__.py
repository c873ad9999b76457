"""One network on one core set: what is measured is what runs."""
