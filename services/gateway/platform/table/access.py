"""Who calls, what they may do, what happened, and who else is told of it."""

from services.gateway.audit_log import operations as audit_handlers, schema as audit
from services.gateway.deletions import operations as deleting_handlers, schema as deletions
from services.gateway.people import operations as people_handlers, schema as people
from services.gateway.platform import schema as base
from services.gateway.platform.auth.permissions import Access, Permission
from services.gateway.platform.operation import Operation, RateClass
from services.gateway.platform.operation_terms import (
    GRANT,
    KEY,
    LOOK,
    MANAGE_ACCESS,
    NATURAL,
    SAFE,
    SEE_ACCESS,
    WEBHOOKS,
)
from services.gateway.roles import operations as role_handlers, schema as roles
from services.gateway.sessions import schema as sessions
from services.gateway.sessions.operations import (
    links as sign_in_link_handlers,
    manage as session_handlers,
    sign_in as signing_in_handlers,
)
from services.gateway.tenants import operations as tenant_handlers
from services.gateway.tokens import operations as access_handlers, schema as access
from services.gateway.views import operations as view_handlers, schema as views
from services.gateway.webhooks import schema as webhooks
from services.gateway.webhooks.operations import deliveries as delivery_handlers, manage as webhook_handlers

# fmt: off
ACCESS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    # webhooks
    Operation("CreateWebhook", "POST", "/v1/webhooks", webhooks.CreateWebhookRequest, webhooks.CreatedWebhook, WEBHOOKS, KEY, webhook_handlers.create_webhook, status=201, secret=True),
    Operation("ListWebhooks", "GET", "/v1/webhooks", webhooks.ListWebhooksRequest, webhooks.WebhookPage, WEBHOOKS, SAFE, webhook_handlers.list_webhooks),
    Operation("GetWebhook", "GET", "/v1/webhooks/{webhook}", webhooks.WebhookRequest, webhooks.Webhook, WEBHOOKS, SAFE, webhook_handlers.get_webhook),
    Operation("EditWebhook", "PATCH", "/v1/webhooks/{webhook}", webhooks.EditWebhookRequest, webhooks.Webhook, WEBHOOKS, NATURAL, webhook_handlers.edit_webhook, conditional=True),
    Operation("DeleteWebhook", "DELETE", "/v1/webhooks/{webhook}", webhooks.WebhookRequest, base.Done, WEBHOOKS, NATURAL, webhook_handlers.delete_webhook),
    Operation("RotateWebhookSecret", "POST", "/v1/webhooks/{webhook}/secret/rotate", webhooks.RotateWebhookSecretRequest, webhooks.CreatedWebhook, WEBHOOKS, NATURAL, webhook_handlers.rotate_secret, secret=True),
    Operation("TestWebhook", "POST", "/v1/webhooks/{webhook}/test", webhooks.WebhookRequest, webhooks.WebhookDelivery, WEBHOOKS, NATURAL, delivery_handlers.test_webhook, waits=True),
    Operation("ListWebhookDeliveries", "GET", "/v1/webhooks/{webhook}/deliveries", webhooks.ListWebhookDeliveriesRequest, webhooks.WebhookDeliveryPage, WEBHOOKS, SAFE, delivery_handlers.list_deliveries),
    Operation("ReplayWebhookDelivery", "POST", "/v1/webhooks/{webhook}/deliveries/{delivery}/replay", webhooks.WebhookDeliveryRequest, webhooks.WebhookDelivery, WEBHOOKS, NATURAL, delivery_handlers.replay_delivery),
    Operation("ReplayWebhookDeliveries", "POST", "/v1/webhooks/{webhook}/deliveries/replay", webhooks.WebhookRequest, webhooks.WebhookReplay, WEBHOOKS, NATURAL, delivery_handlers.replay_dead),
    # access
    Operation("GetMe", "GET", "/v1/me", base.Empty, access.Me, Permission.SELF, SAFE, access_handlers.get_me),
    Operation("SignIn", "POST", "/v1/sessions", sessions.SignInRequest, sessions.CreatedSession, Access.PUBLIC, NATURAL, signing_in_handlers.sign_in, secret=True),
    Operation("SignInWithToken", "POST", "/v1/sign-in/token", sessions.TokenSignInRequest, sessions.CreatedSession, Access.PUBLIC, NATURAL, signing_in_handlers.sign_in_with_token, secret=True),
    Operation("CreateSignInLink", "POST", "/v1/sign-in/links", base.Empty, sessions.SignInLink, Permission.SELF, KEY, sign_in_link_handlers.create_sign_in_link, status=201, secret=True),
    Operation("SignInWithLink", "POST", "/v1/sign-in/link", sessions.LinkSignInRequest, sessions.CreatedSession, Access.PUBLIC, NATURAL, sign_in_link_handlers.sign_in_with_link, secret=True),
    Operation("ListSignInWays", "GET", "/v1/sign-in/ways", base.Empty, sessions.SignInWays, Access.PUBLIC, SAFE, signing_in_handlers.list_sign_in_ways),
    Operation("BeginSignIn", "GET", "/v1/sign-in", sessions.BeginSignInRequest, sessions.BegunSignIn, Access.PUBLIC, SAFE, signing_in_handlers.begin_sign_in, waits=True),
    Operation("FinishSignIn", "POST", "/v1/sign-in/finish", sessions.FinishSignInRequest, sessions.CreatedSession, Access.PUBLIC, NATURAL, signing_in_handlers.finish_sign_in, secret=True, waits=True),
    Operation("ListSessions", "GET", "/v1/sessions", sessions.ListSessionsRequest, sessions.SessionPage, Permission.SELF, SAFE, session_handlers.list_sessions),
    Operation("RevokeSession", "DELETE", "/v1/sessions/{session}", sessions.SessionRequest, sessions.Session, Permission.SELF, NATURAL, session_handlers.revoke_session),
    Operation("ChangePassword", "POST", "/v1/me/password", sessions.ChangePasswordRequest, base.Done, Permission.SELF, NATURAL, session_handlers.change_password),
    Operation("ListViews", "GET", "/v1/views", base.Empty, views.SavedViews, Permission.SELF, SAFE, view_handlers.list_views),
    Operation("SaveView", "PUT", "/v1/views", views.SaveViewRequest, views.SavedView, Permission.SELF, NATURAL, view_handlers.save_view),
    Operation("DeleteView", "DELETE", "/v1/views/{view}", views.ViewRequest, base.Done, Permission.SELF, NATURAL, view_handlers.delete_view),
    Operation("CreateToken", "POST", "/v1/tokens", access.CreateTokenRequest, access.CreatedToken, Permission.TOKEN_MANAGE, KEY, access_handlers.create_token, status=201, secret=True),
    Operation("ListTokens", "GET", "/v1/tokens", access.ListTokensRequest, access.TokenPage, Permission.TOKEN_MANAGE, SAFE, access_handlers.list_tokens),
    Operation("RevokeToken", "DELETE", "/v1/tokens/{token}", access.TokenRequest, access.Token, Permission.TOKEN_MANAGE, NATURAL, access_handlers.revoke_token),
    Operation("CreateUser", "POST", "/v1/users", people.CreateUserRequest, people.User, MANAGE_ACCESS, KEY, people_handlers.create_user, status=201),
    Operation("ListUsers", "GET", "/v1/users", people.ListUsersRequest, people.UserPage, SEE_ACCESS, SAFE, people_handlers.list_users),
    Operation("GetUser", "GET", "/v1/users/{user}", people.UserRequest, people.User, SEE_ACCESS, SAFE, people_handlers.get_user),
    Operation("EditUser", "PATCH", "/v1/users/{user}", people.EditUserRequest, people.User, MANAGE_ACCESS, NATURAL, people_handlers.edit_user, conditional=True),
    Operation("CreateUserToken", "POST", "/v1/users/{user}/tokens", people.CreateUserTokenRequest, access.CreatedToken, Permission.TOKEN_MANAGE, KEY, people_handlers.create_user_token, status=201, secret=True),
    Operation("SetPassword", "PUT", "/v1/users/{user}/password", sessions.SetPasswordRequest, base.Done, MANAGE_ACCESS, NATURAL, session_handlers.set_password),
    Operation("ListUserSessions", "GET", "/v1/users/{user}/sessions", sessions.ListUserSessionsRequest, sessions.SessionPage, MANAGE_ACCESS, SAFE, session_handlers.list_user_sessions),
    Operation("RevokeUserSessions", "DELETE", "/v1/users/{user}/sessions", people.UserRequest, sessions.SessionsEnded, MANAGE_ACCESS, NATURAL, session_handlers.revoke_user_sessions),
    Operation("LinkIdentity", "POST", "/v1/users/{user}/identities", sessions.LinkIdentityRequest, sessions.Identity, MANAGE_ACCESS, NATURAL, session_handlers.link_identity),
    Operation("ListIdentities", "GET", "/v1/users/{user}/identities", people.UserRequest, sessions.IdentityList, SEE_ACCESS, SAFE, session_handlers.list_identities),
    Operation("UnlinkIdentity", "DELETE", "/v1/users/{user}/identities/{identity}", sessions.IdentityRequest, sessions.Identity, MANAGE_ACCESS, NATURAL, session_handlers.unlink_identity),
    Operation("CreateGroup", "POST", "/v1/groups", people.CreateGroupRequest, people.Group, MANAGE_ACCESS, KEY, people_handlers.create_group, status=201),
    Operation("ListGroups", "GET", "/v1/groups", people.ListGroupsRequest, people.GroupPage, SEE_ACCESS, SAFE, people_handlers.list_groups),
    Operation("GetGroup", "GET", "/v1/groups/{group}", people.GroupRequest, people.Group, SEE_ACCESS, SAFE, people_handlers.get_group),
    Operation("DeleteGroup", "DELETE", "/v1/groups/{group}", people.GroupRequest, base.Done, MANAGE_ACCESS, NATURAL, people_handlers.delete_group, conditional=True),
    Operation("AddGroupMember", "PUT", "/v1/groups/{group}/members/{user}", people.GroupMemberRequest, people.User, MANAGE_ACCESS, NATURAL, people_handlers.add_group_member),
    Operation("RemoveGroupMember", "DELETE", "/v1/groups/{group}/members/{user}", people.GroupMemberRequest, people.User, MANAGE_ACCESS, NATURAL, people_handlers.remove_group_member),
    Operation("CreateRole", "POST", "/v1/roles", roles.CreateRoleRequest, roles.RoleDefinition, MANAGE_ACCESS, KEY, role_handlers.create_role, status=201),
    Operation("ListRoles", "GET", "/v1/roles", base.Empty, roles.RolePage, SEE_ACCESS, SAFE, role_handlers.list_roles),
    Operation("GetRole", "GET", "/v1/roles/{role}", roles.RoleRequest, roles.RoleDefinition, SEE_ACCESS, SAFE, role_handlers.get_role),
    Operation("EditRole", "PATCH", "/v1/roles/{role}", roles.EditRoleRequest, roles.RoleDefinition, MANAGE_ACCESS, NATURAL, role_handlers.edit_role, conditional=True),
    Operation("DeleteRole", "DELETE", "/v1/roles/{role}", roles.RoleRequest, base.Done, MANAGE_ACCESS, NATURAL, role_handlers.delete_role, conditional=True),
    Operation("GrantRole", "POST", "/v1/role-bindings", roles.GrantRoleRequest, roles.RoleBinding, GRANT, KEY, role_handlers.grant_role, status=201),
    Operation("ListRoleBindings", "GET", "/v1/role-bindings", roles.ListRoleBindingsRequest, roles.RoleBindingPage, SEE_ACCESS, SAFE, role_handlers.list_role_bindings),
    Operation("RevokeRole", "DELETE", "/v1/role-bindings/{binding}", roles.RoleBindingRequest, roles.RoleBinding, GRANT, NATURAL, role_handlers.revoke_role),
    Operation("CreateTenant", "POST", "/v1/tenants", roles.CreateTenantRequest, roles.CreatedTenant, Permission.TENANT_MANAGE, KEY, tenant_handlers.create_tenant, status=201, secret=True),
    Operation("RecoverTenant", "POST", "/v1/tenants/{tenant}/recover", roles.RecoverTenantRequest, roles.CreatedTenant, Permission.TENANT_MANAGE, KEY, tenant_handlers.recover_tenant, status=201, secret=True),
    Operation("DeleteTenant", "DELETE", "/v1/tenants/{tenant}", deletions.DeleteTenantRequest, deletions.Deletion, Permission.TENANT_MANAGE, NATURAL, deleting_handlers.delete_tenant, long=True),
    Operation("ListTenants", "GET", "/v1/tenants", roles.ListTenantsRequest, roles.TenantPage, Permission.TENANT_READ, SAFE, tenant_handlers.list_tenants),
    # what happened
    Operation("ListAudit", "GET", "/v1/audit", audit.ListAuditRequest, audit.AuditPage, Permission.AUDIT_READ, SAFE, audit_handlers.list_audit),
    Operation("ExportAudit", "GET", "/v1/audit/export", audit.ExportAuditRequest, audit.AuditLine, Permission.AUDIT_READ, SAFE, audit_handlers.export_audit, stream="server", audited=LOOK),
    Operation("VerifyAudit", "GET", "/v1/audit/verification", audit.VerifyAuditRequest, audit.AuditVerification, Permission.AUDIT_READ, SAFE, audit_handlers.verify_audit),
    Operation("GetAuditHead", "GET", "/v1/audit/head", base.Empty, audit.AuditHead, Permission.AUDIT_READ, SAFE, audit_handlers.get_audit_head),
    Operation("ListSiteAudit", "GET", "/v1/site/audit", audit.ListAuditRequest, audit.AuditPage, Permission.SITE_AUDIT, SAFE, audit_handlers.list_site_audit),
    Operation("ExportSiteAudit", "GET", "/v1/site/audit/export", audit.ExportAuditRequest, audit.AuditLine, Permission.SITE_AUDIT, SAFE, audit_handlers.export_site_audit, stream="server", audited=LOOK),
    Operation("VerifySiteAudit", "GET", "/v1/site/audit/verification", audit.VerifyAuditRequest, audit.AuditVerification, Permission.SITE_AUDIT, SAFE, audit_handlers.verify_site_audit),
    Operation("GetSiteAuditHead", "GET", "/v1/site/audit/head", base.Empty, audit.AuditHead, Permission.SITE_AUDIT, SAFE, audit_handlers.get_site_audit_head),
    # joining
    Operation("IssueJoinToken", "POST", "/v1/join-tokens", access.IssueJoinTokenRequest, access.JoinToken, Permission.WORKER_JOIN, KEY, access_handlers.issue_join_token, status=201, secret=True, waits=True),
    Operation("JoinWorker", "POST", "/v1/workers/join", access.JoinWorkerRequest, access.WorkerCredentials, Access.JOIN_TOKEN, NATURAL, access_handlers.join_worker, rate=RateClass.JOIN, secret=True, waits=True),
    Operation("GetHealth", "GET", "/v1/health", base.Empty, access.Health, Access.PUBLIC, SAFE, access_handlers.get_health, is_probe=True),
)
# fmt: on
