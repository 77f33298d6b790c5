"""`muster keys`: revoking and rotating on a running platform."""
