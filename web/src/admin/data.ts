/** Queries of the administration pages. No events report their changes, so each action refetches what it changed. */
import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { every } from "@/api/every";
import { keys } from "@/api/keys";
import { see } from "@/api/seen";
import type { Resource } from "@/api/types";

export type User = Resource<"User">;
export type Token = Resource<"Token">;
export type Webhook = Resource<"Webhook">;
export type Delivery = Resource<"WebhookDelivery">;
export type AuditRecord = Resource<"AuditRecord">;
export type Role = Resource<"RoleDefinition">;

export type Group = Resource<"Group">;
export type Binding = Resource<"RoleBinding">;
export type Template = Resource<"Template">;
export type Secret = Resource<"Secret">;
export type Policy = Resource<"ConfigPolicy">;

const limit = 200;

/** Key prefix of all administration queries, which each action invalidates. */
export const ADMIN = ["admin"] as const;

export const usersQuery = queryOptions({
  queryKey: keys.admin("users"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/users", { params: { query: { limit, cursor } }, signal }))),
});
export const tokensQuery = queryOptions({
  queryKey: keys.admin("tokens"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/tokens", { params: { query: { limit, cursor } }, signal }))),
});
export const bindingsQuery = queryOptions({
  queryKey: keys.admin("bindings"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/role-bindings", { params: { query: { limit, cursor } }, signal }))),
});
export const rolesQuery = queryOptions({ queryKey: keys.admin("roles"), queryFn: ({ signal }) => ask(api.GET("/v1/roles", { signal })) });
export const groupsQuery = queryOptions({
  queryKey: keys.admin("groups"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/groups", { params: { query: { limit, cursor } }, signal }))),
});
export const membersQuery = (group: string) =>
  queryOptions({
    queryKey: keys.admin("members", { group }),
    queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/users", { params: { query: { group, limit, cursor } }, signal }))),
  });
export const webhooksQuery = queryOptions({
  queryKey: keys.admin("webhooks"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/webhooks", { params: { query: { limit, cursor } }, signal }))),
});
export const deliveriesQuery = (webhook: string) =>
  queryOptions({
    queryKey: keys.admin("deliveries", { webhook }),
    queryFn: ({ signal }) => ask(api.GET("/v1/webhooks/{webhook}/deliveries", { params: { path: { webhook }, query: { limit: 50 } }, signal })),
  });
export const auditQuery = (filter: string) =>
  queryOptions({
    queryKey: keys.admin("audit", { filter }),
    queryFn: ({ signal }) => ask(api.GET("/v1/audit", { params: { query: { limit: 200, filter } }, signal })),
  });
export const tenantsQuery = queryOptions({
  queryKey: keys.admin("tenants"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/tenants", { params: { query: { limit, cursor } }, signal }))),
});
export const limitsQuery = queryOptions({
  queryKey: keys.admin("limits"),
  queryFn: async ({ signal }) => {
    const [limits, quotas, budgets] = await Promise.all([
      every((cursor) => ask(api.GET("/v1/limits", { params: { query: { limit, cursor } }, signal }))),
      ask(api.GET("/v1/quotas", { signal })),
      ask(api.GET("/v1/budgets", { signal })),
    ]);
    return { limits: limits.items, quotas: quotas.items, budgets: budgets.items };
  },
});
export const policiesQuery = queryOptions({
  queryKey: keys.admin("policies"),
  queryFn: async ({ signal }) => {
    const [templates, policies] = await Promise.all([
      every((cursor) => ask(api.GET("/v1/templates", { params: { query: { limit, cursor } }, signal }))),
      ask(api.GET("/v1/policies", { signal })),
    ]);
    return { templates: templates.items, policies: policies.items };
  },
});

/** Workspaces that contain experiments. */
export const workspacesQuery = queryOptions({
  queryKey: keys.admin("workspaces"),
  queryFn: ({ signal }) => every((cursor) => ask(api.GET("/v1/experiment-groups", { params: { query: { by: "workspace", limit, cursor } }, signal }))),
});
export const secretsQuery = (workspace: string) =>
  queryOptions({
    queryKey: keys.admin("secrets", { workspace }),
    queryFn: ({ signal }) => ask(api.GET("/v1/workspaces/{workspace}/secrets", { params: { path: { workspace } }, signal })),
    enabled: workspace !== "",
  });

/** An object with its ETag, fetched again for each change. */
function seenQuery<Thing>(part: string, name: string, fetchOne: (signal: AbortSignal) => Parameters<typeof see<Thing>>[0]) {
  return queryOptions({ queryKey: keys.admin(part, { name }), queryFn: ({ signal }) => see(fetchOne(signal)), staleTime: 0, gcTime: 0 });
}

export const templateQuery = (template: string) => seenQuery<Template>("template", template, (signal) => api.GET("/v1/templates/{template}", { params: { path: { template } }, signal }));
export const roleQuery = (role: string) => seenQuery<Role>("role", role, (signal) => api.GET("/v1/roles/{role}", { params: { path: { role } }, signal }));
export const userQuery = (user: string) => seenQuery<User>("user", user, (signal) => api.GET("/v1/users/{user}", { params: { path: { user } }, signal }));
export const groupQuery = (group: string) => seenQuery<Group>("group", group, (signal) => api.GET("/v1/groups/{group}", { params: { path: { group } }, signal }));
export const webhookQuery = (webhook: string) => seenQuery<Webhook>("webhook", webhook, (signal) => api.GET("/v1/webhooks/{webhook}", { params: { path: { webhook } }, signal }));
