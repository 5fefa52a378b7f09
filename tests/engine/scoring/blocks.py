"""Squared residuals of a block, with those that are no number."""

from hypothesis import strategies as st

residual_lists = st.lists(st.floats(0, 10, width=32) | st.just(float("nan")) | st.just(float("inf")), max_size=300)
