"""Side-by-side runs of robust estimators over folders of image pairs with ground truth."""
