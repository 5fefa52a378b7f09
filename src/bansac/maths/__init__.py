"""Arrays and their checks, matrices, quaternions, polynomials, extents, normalization, random numbers, extras."""
