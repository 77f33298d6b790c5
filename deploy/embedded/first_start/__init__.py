"""What a first start makes: certificates, the bucket, and the steps that do it."""
