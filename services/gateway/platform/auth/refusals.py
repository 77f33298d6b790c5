"""That somebody is not known: one answer to whatever is wrong, and for the audit log alone what it was."""

from uuid import UUID

from muster.errors import Rejected
from shared.ids import SITE, TenantId


class Unauthenticated(Rejected):
    """The one answer to whatever is wrong with a token; what it was, and whose, is for the audit log alone."""

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
            "a valid access token is needed",
            hint="send `Authorization: Bearer mst_…`, or sign in with `muster login`; the admin token stands in the file that the first start wrote",
        )
        self.why = why
        self.tenant = tenant
        self.token = token
        self.user = user
        self.name = name


class SignInRefused(Unauthenticated):
    """The one answer to whatever is wrong with who signs in."""

    def __init__(self, why: str, tenant: TenantId = SITE, user: UUID | None = None, name: str = "") -> None:
        super().__init__(why, tenant, None, user, name)
        self.message = "this sign-in is not good"
        self.hint = "begin again, or ask an administrator of your tenant"


class SignInLinkRefused(SignInRefused):
    """The one answer to whatever is wrong with a sign-in link; only a person who holds one sees it."""

    def __init__(self, why: str, tenant: TenantId = SITE, user: UUID | None = None, name: str = "") -> None:
        super().__init__(why, tenant, user, name)
        self.code = "bad_sign_in_link"
        self.message = (
            "this sign-in link was used already, or its time is over: a link signs in once, within 15 minutes"
        )
        self.hint = "`muster session link` prints another, where the platform was started"


class UnknownUser(SignInRefused):
    """Who was proved to be somebody, whom nobody knows here."""

    def __init__(self, tenant: TenantId, provider: str, subject: str) -> None:
        super().__init__("unknown_person", tenant)
        self.code = "unknown_person"
        self.message = f"nobody here is known by your subject {subject!r} at {provider}"
        self.hint = f"let an administrator of your tenant run `muster user link NAME --provider {provider} --subject …` with it"
