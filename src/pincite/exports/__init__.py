"""Reports and other results as bytes for people and programs: one file per format, pure functions of their input."""
