"""Errors for failed authentication. Clients get the same answer for every cause; only the audit log records the cause."""

from uuid import UUID

from muster.errors import Rejected
from shared.ids import SITE, TenantId


class Unauthenticated(Rejected):
    """The answer for any invalid token. The attributes (cause, tenant, token, user) are for the audit log only."""

    def __init__(
        self,
        why: str,
        tenant: TenantId = SITE,
        token: UUID | None = None,
        user: UUID | None = None,
        name: str = "",
    ) -> None:
        super().__init__(
            "unauthenticated",
            "the request needs a valid access token",
            hint="send `Authorization: Bearer mst_…`, or sign in with `muster login`; the first start wrote the admin token to a file",
        )
        self.why = why
        self.tenant = tenant
        self.token = token
        self.user = user
        self.name = name


class SignInRefused(Unauthenticated):
    """The answer for any failed sign-in."""

    def __init__(self, why: str, tenant: TenantId = SITE, user: UUID | None = None, name: str = "") -> None:
        super().__init__(why, tenant, None, user, name)
        self.message = "sign-in failed"
        self.hint = "try again, or ask an administrator of your tenant"


class SignInLinkRefused(SignInRefused):
    """The answer for any invalid sign-in link."""

    def __init__(self, why: str, tenant: TenantId = SITE, user: UUID | None = None, name: str = "") -> None:
        super().__init__(why, tenant, user, name)
        self.code = "bad_sign_in_link"
        self.message = "this sign-in link has been used or has expired: a link works once, within 15 minutes"
        self.hint = (
            "run `muster session link` on the machine where the platform was started to get another link"
        )


class UnknownUser(SignInRefused):
    """The answer for a subject that the provider confirmed, but that no account is linked to."""

    def __init__(self, tenant: TenantId, provider: str, subject: str) -> None:
        super().__init__("unknown_person", tenant)
        self.code = "unknown_person"
        self.message = f"no user is linked to your subject {subject!r} at {provider}"
        self.hint = f"ask an administrator of your tenant to run `muster user link NAME --provider {provider} --subject …`"
