"""Code archives: upload, and reading their files."""
