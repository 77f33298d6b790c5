"""What every slice needs: a checkpoint's life, names and their limits, metadata, marks. Pure, as each slice's own core is."""
