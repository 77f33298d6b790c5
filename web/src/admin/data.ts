/** What the administration's pages ask; nothing of it comes with events, so an action asks again what it changed. */
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
export type Policy = Resource<"ConfigPolicy">;

const limit = 200;

/** All of the administration: an action asks again what of it is shown. */
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
/** A template with the tag that a change of it names. */
export const templateQuery = (template: string) =>
  queryOptions({
    queryKey: keys.admin("template", { template }),
    queryFn: ({ signal }) => see(api.GET("/v1/templates/{template}", { params: { path: { template } }, signal })),
    staleTime: 0,
    gcTime: 0,
  });
