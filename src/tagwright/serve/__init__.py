"""A server of models: JSON over HTTP, and a page to look at labellings. An optional extra, `tagwright[serve]`."""
