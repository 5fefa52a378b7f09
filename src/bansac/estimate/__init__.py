"""The public functions: check the input, choose the options, run the engine, build the result."""
