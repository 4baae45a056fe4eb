"""Model files: LP, free MPS, AMPL's nl and GAMS, the same bytes for the same model."""
