"""Many machines: taggers for data engines, and learners and files on Ray; Ray itself is an extra."""
