"""A checkpoint's way: announced, sent, verified, committed, looked after, collected."""
