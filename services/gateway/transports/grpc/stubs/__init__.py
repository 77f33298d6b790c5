"""Generated from `proto/muster/v1/muster.proto` by `make gen`."""
