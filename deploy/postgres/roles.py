"""The statements that make roles, logins and schemas. None changes a password that exists, except `set_password`.

For each service: a schema, and the roles of its owner (migrations), its tenants' transactions and its system loops. Tables and policies
come from the services' migrations.
"""

import hashlib
import hmac
import os
from base64 import b64encode
from collections.abc import Collection, Mapping

from deploy.postgres.urls import SERVICES, login_name, role_names

_ITERATIONS = 4096
"""Postgres's own number."""
_PLAIN = "NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION"


def create_roles(existing: Collection[str]) -> list[str]:
    """Create the roles that hold the privileges, where they are missing. They cannot log in."""
    missing = [role for role in role_names() if role not in existing]
    return [f"CREATE ROLE {role} NOLOGIN {_PLAIN}" for role in missing]


def create_logins(database: str, passwords: Mapping[str, str], existing: Collection[str]) -> list[str]:
    """Create the database's login roles where they are missing; `allow_logins` opens them."""
    logins = {login_name(database, role): password for role, password in passwords.items()}
    return [
        f"CREATE ROLE {login} NOLOGIN NOINHERIT {_PLAIN} PASSWORD '{_verifier(password)}'"
        for login, password in logins.items()
        if login not in existing
    ]


def set_password(database: str, role: str, password: str) -> str:
    """Replace the password of one login role."""
    return f"ALTER ROLE {login_name(database, role)} PASSWORD '{_verifier(password)}'"


def grant(database: str) -> list[str]:
    """Create the schemas, and grant each role what it needs. To be run in the database itself; repeatable."""
    statements = [
        f'REVOKE ALL ON DATABASE "{database}" FROM PUBLIC',
        "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    ]
    for service in SERVICES:
        owner, tenant, system = role_names(service)
        statements += [
            f"GRANT {owner} TO CURRENT_USER",
            f"CREATE SCHEMA IF NOT EXISTS {service} AUTHORIZATION {owner}",
            f"ALTER SCHEMA {service} OWNER TO {owner}",
            f"REVOKE ALL ON SCHEMA {service} FROM PUBLIC",
            f"GRANT USAGE ON SCHEMA {service} TO {tenant}, {system}",
        ]
        for role in (owner, tenant, system):
            login = login_name(database, role)
            # A session of the login has the role's privileges and no others, and is refused by every other database.
            statements += [
                f"GRANT {role} TO {login}",
                f'GRANT CONNECT ON DATABASE "{database}" TO {login}',
                f'ALTER ROLE {login} IN DATABASE "{database}" SET role = {role}',
                f'ALTER ROLE {login} IN DATABASE "{database}" SET search_path = {service}',
            ]
    return statements


def allow_logins(database: str) -> list[str]:
    """Open the login roles. Last of all, so that a service that waits for its database finds it complete."""
    return [f"ALTER ROLE {login_name(database, role)} LOGIN" for role in role_names()]


def drop_logins(database: str) -> str:
    """Remove the login roles of a database that is gone."""
    return f"DROP ROLE IF EXISTS {', '.join(login_name(database, role) for role in role_names())}"


def _verifier(password: str) -> str:
    """What Postgres stores of an ASCII password (SCRAM-SHA-256, RFC 5803), so that no log of statements has the password itself."""
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    client, server = (hmac.digest(salted, key, "sha256") for key in (b"Client Key", b"Server Key"))
    parts = (b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(_ITERATIONS, *parts)
