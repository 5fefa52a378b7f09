"""One module a problem: minimal solver, residuals, non-minimal fit, checks."""
