"""mrdsl: declare jobs, machines and promises; get the cheapest cluster that keeps them, with a proof."""

__version__ = "0.1.0"
