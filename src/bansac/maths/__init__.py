"""Arrays and their checks, small matrices, quaternions, polynomials, extents, normalisation, random numbers."""
