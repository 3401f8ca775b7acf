"""Features: templates, macros, presets."""
