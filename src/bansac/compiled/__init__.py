"""Compilation by Numba: decorators, structs, the fence around Numba, the cache, and the kernels of wheels."""
