import { useParams } from "@tanstack/react-router";
import { type ComponentType } from "react";
import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { Tabs, type Tab } from "@/parts/Tabs";
import { useMay } from "@/session/session";
import { AuditTab } from "./AuditTab";
import { GroupsTab } from "./GroupsTab";
import { LimitsTab } from "./LimitsTab";
import { UsersTab } from "./UsersTab";
import { PoliciesTab } from "./PoliciesTab";
import { RolesTab } from "./RolesTab";
import { SecretsTab } from "./SecretsTab";
import { TenantsTab } from "./TenantsTab";
import { TokensTab } from "./TokensTab";
import { WebhooksTab } from "./WebhooksTab";

interface AdminTab extends Tab {
  id: string;
  /** Shown to users with one of these permissions. */
  needs: readonly string[];
  Body: ComponentType;
}

const adminTab = (id: string, label: string, Body: ComponentType, ...needs: string[]): AdminTab => ({ id, label, Body, needs, to: "/admin/$tab", params: { tab: id } });

const TABS: readonly AdminTab[] = [
  adminTab("users", "Users", UsersTab, "access.read", "access.manage"),
  adminTab("groups", "Groups", GroupsTab, "access.read", "access.manage"),
  adminTab("roles", "Roles", RolesTab, "access.read"),
  adminTab("tokens", "Tokens", TokensTab, "token.manage"),
  adminTab("limits", "Limits", LimitsTab, "cluster.read"),
  adminTab("policies", "Templates and policies", PoliciesTab, "experiment.read"),
  adminTab("secrets", "Secrets", SecretsTab, "secret.manage"),
  adminTab("webhooks", "Webhooks", WebhooksTab, "webhook.manage"),
  adminTab("audit", "Audit log", AuditTab, "audit.read"),
  adminTab("tenants", "Tenants", TenantsTab, "tenant.read"),
];

export default function AdminPage() {
  const { tab } = useParams({ strict: false });
  const may = useMay();
  const visible = TABS.filter((one) => one.needs.some(may));
  const here = visible.find((one) => one.id === tab) ?? (tab === undefined ? visible[0] : undefined);
  return (
    <Page title="Administration" tabs={<Tabs label="Administration" tabs={visible.map((one) => ({ ...one, isHere: one === here }))} />}>
      {here ? <here.Body /> : <Empty icon="admin" title="This page does not exist, or your role does not permit it" />}
    </Page>
  );
}
