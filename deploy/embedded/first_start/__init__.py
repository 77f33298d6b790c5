"""Steps of a first start: certificates, bucket, database, keys."""
