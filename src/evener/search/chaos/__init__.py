"""Start a search at the edge of chaos: what λ is here, and where it is critical.

A. Ravishankar et al., Pruned Genetic-NAS on GPU Accelerator Platforms with Chaos-on-Edge
Hyperparameters, define λ (equations 1 and 2) over states of which they do not say what makes one
latent. There are three readings here, and each satisfies both equations: `mean_field` and
`propagation` count links, `table` counts settings of hyperparameters, `langton.of_offspring`
counts networks that a search tries. The second is the paper's own; the first is what makes a
network trainable.
"""
