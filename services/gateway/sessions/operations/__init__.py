"""Table of the operations on sign-in, sessions, passwords and identities."""

from services.gateway.platform.auth.permissions import Access, Permission
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, MANAGE_ACCESS, NATURAL, SAFE, SEE_ACCESS
from services.gateway.platform.schema import Done, Empty
from services.gateway.sessions.operations.links import create_sign_in_link, sign_in_with_link
from services.gateway.sessions.operations.manage import (
    change_password,
    link_identity,
    list_identities,
    list_sessions,
    list_user_sessions,
    revoke_session,
    revoke_user_sessions,
    set_password,
    unlink_identity,
)
from services.gateway.sessions.operations.signing_in import (
    begin_sign_in,
    finish_sign_in,
    list_sign_in_ways,
    sign_in,
    sign_in_with_token,
)
from services.gateway.sessions.schema import (
    BeginSignInRequest,
    ChangePasswordRequest,
    CreatedSession,
    FinishSignInRequest,
    Identity,
    IdentityList,
    IdentityRequest,
    LinkIdentityRequest,
    LinkSignInRequest,
    ListSessionsRequest,
    ListUserSessionsRequest,
    Session,
    SessionPage,
    SessionRequest,
    SessionsEnded,
    SetPasswordRequest,
    SignInLink,
    SignInRequest,
    SignInWays,
    StartedSignIn,
    TokenSignInRequest,
)
from services.gateway.users.schema import UserRequest

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("SignIn", "POST", "/v1/sessions", SignInRequest, CreatedSession, Access.PUBLIC, NATURAL, sign_in, secret=True),
    Operation("SignInWithToken", "POST", "/v1/sign-in/token", TokenSignInRequest, CreatedSession, Access.PUBLIC, NATURAL, sign_in_with_token, secret=True),
    Operation("CreateSignInLink", "POST", "/v1/sign-in/links", Empty, SignInLink, Permission.SELF, KEY, create_sign_in_link, status=201, secret=True),
    Operation("SignInWithLink", "POST", "/v1/sign-in/link", LinkSignInRequest, CreatedSession, Access.PUBLIC, NATURAL, sign_in_with_link, secret=True),
    Operation("ListSignInWays", "GET", "/v1/sign-in/ways", Empty, SignInWays, Access.PUBLIC, SAFE, list_sign_in_ways),
    Operation("BeginSignIn", "GET", "/v1/sign-in", BeginSignInRequest, StartedSignIn, Access.PUBLIC, SAFE, begin_sign_in, waits=True),
    Operation("FinishSignIn", "POST", "/v1/sign-in/finish", FinishSignInRequest, CreatedSession, Access.PUBLIC, NATURAL, finish_sign_in, secret=True, waits=True),
    Operation("ListSessions", "GET", "/v1/sessions", ListSessionsRequest, SessionPage, Permission.SELF, SAFE, list_sessions),
    Operation("RevokeSession", "DELETE", "/v1/sessions/{session}", SessionRequest, Session, Permission.SELF, NATURAL, revoke_session),
    Operation("ChangePassword", "POST", "/v1/me/password", ChangePasswordRequest, Done, Permission.SELF, NATURAL, change_password),
    Operation("SetPassword", "PUT", "/v1/users/{user}/password", SetPasswordRequest, Done, MANAGE_ACCESS, NATURAL, set_password),
    Operation("ListUserSessions", "GET", "/v1/users/{user}/sessions", ListUserSessionsRequest, SessionPage, MANAGE_ACCESS, SAFE, list_user_sessions),
    Operation("RevokeUserSessions", "DELETE", "/v1/users/{user}/sessions", UserRequest, SessionsEnded, MANAGE_ACCESS, NATURAL, revoke_user_sessions),
    Operation("LinkIdentity", "POST", "/v1/users/{user}/identities", LinkIdentityRequest, Identity, MANAGE_ACCESS, NATURAL, link_identity),
    Operation("ListIdentities", "GET", "/v1/users/{user}/identities", UserRequest, IdentityList, SEE_ACCESS, SAFE, list_identities),
    Operation("UnlinkIdentity", "DELETE", "/v1/users/{user}/identities/{identity}", IdentityRequest, Identity, MANAGE_ACCESS, NATURAL, unlink_identity),
)
# fmt: on
