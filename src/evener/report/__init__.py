"""Write what a build found as one page that needs no network."""
