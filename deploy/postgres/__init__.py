"""The platform's database: roles, logins and schemas, made or found."""
