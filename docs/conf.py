"""How Sphinx builds these pages."""

import importlib.util

import tagwright

project = "tagwright"
author = "The tagwright developers"
release = tagwright.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "tagwright"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# scikit-learn adds it to estimators whose fit takes sample_weight; its text refers to pages of its own.
autodoc_default_options = {"exclude-members": "set_fit_request, set_partial_fit_request"}
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]
