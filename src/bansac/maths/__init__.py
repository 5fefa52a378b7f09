"""Arrays and their checks, matrices, quaternions, polynomials, extents, normalisation, random numbers, extras."""
