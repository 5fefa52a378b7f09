"""Estimation for many pairs in one run, from files of matches or a folder of images to one file of results."""
