"""SQL statements for roles, logins and schemas. None changes an existing password, except `set_password`.

Each service has a schema, and roles for its owner (migrations), tenant transactions and system loops. The services' migrations create tables
and policies.
"""

import hashlib
import hmac
import os
from base64 import b64encode
from collections.abc import Collection, Mapping

from deploy.postgres.urls import SERVICES, login_name, role_names

_ITERATIONS = 4096
"""Postgres's default."""
_PLAIN = "NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION"


def create_roles(existing: Collection[str]) -> list[str]:
    """Create missing roles that hold privileges. They cannot log in."""
    missing = [role for role in role_names() if role not in existing]
    return [f"CREATE ROLE {role} NOLOGIN {_PLAIN}" for role in missing]


def create_logins(database: str, passwords: Mapping[str, str], existing: Collection[str]) -> list[str]:
    """Create missing login roles of the database; `allow_logins` enables them."""
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
    """Create the schemas, and grant privileges to each role. Run it in the database; idempotent."""
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
            # The login's session has the role's privileges only, and other databases refuse it.
            statements += [
                f"GRANT {role} TO {login}",
                f'GRANT CONNECT ON DATABASE "{database}" TO {login}',
                f'ALTER ROLE {login} IN DATABASE "{database}" SET role = {role}',
                f'ALTER ROLE {login} IN DATABASE "{database}" SET search_path = {service}',
            ]
    return statements


def allow_logins(database: str) -> list[str]:
    """Enable the login roles; run it last, so that a waiting service finds a complete database."""
    return [f"ALTER ROLE {login_name(database, role)} LOGIN" for role in role_names()]


def drop_logins(database: str) -> str:
    """Drop the login roles of a deleted database."""
    return f"DROP ROLE IF EXISTS {', '.join(login_name(database, role) for role in role_names())}"


def _verifier(password: str) -> str:
    """Return the SCRAM-SHA-256 verifier (RFC 5803) of an ASCII password, so that no statement log contains the password."""
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    client, server = (hmac.digest(salted, key, "sha256") for key in (b"Client Key", b"Server Key"))
    parts = (b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(_ITERATIONS, *parts)
