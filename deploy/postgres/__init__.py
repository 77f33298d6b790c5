"""The platform's database: creates or finds roles, logins and schemas."""
