"""Interfaces of other packages on top of tagwright; nothing here is imported unless it is named."""
