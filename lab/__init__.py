"""The laboratory: this file makes its tests the package ``lab.tests``, beside ``tests``; it is not installed."""
