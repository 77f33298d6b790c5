"""Objects in a bucket, behind one interface. Adapters: `s3` (any S3 server, with the minio client), `directory` (tests)."""

from shared.objects.interface import LEAST_PART_BYTES, Digest, ObjectStat, ObjectStore, SignedPut, read_all

__all__ = ["LEAST_PART_BYTES", "Digest", "ObjectStat", "ObjectStore", "SignedPut", "read_all"]
