import { useParams } from "@tanstack/react-router";
import { type ComponentType } from "react";
import { Empty } from "@/parts/Notes";
import { Page } from "@/parts/Page";
import { Tabs, type Tab } from "@/parts/Tabs";
import { useMay } from "@/session/session";
import { AuditTab } from "./AuditTab";
import { GroupsTab } from "./GroupsTab";
import { LimitsTab } from "./LimitsTab";
import { PeopleTab } from "./PeopleTab";
import { PoliciesTab } from "./PoliciesTab";
import { RolesTab } from "./RolesTab";
import { TenantsTab } from "./TenantsTab";
import { TokensTab } from "./TokensTab";
import { WebhooksTab } from "./WebhooksTab";

interface Part extends Tab {
  id: string;
  /** Shown to who may do one of these. */
  needs: readonly string[];
  Body: ComponentType;
}

const part = (id: string, label: string, Body: ComponentType, ...needs: string[]): Part => ({ id, label, Body, needs, to: "/admin/$tab", params: { tab: id } });

const PARTS: readonly Part[] = [
  part("people", "People", PeopleTab, "access.read", "access.manage"),
  part("groups", "Groups", GroupsTab, "access.read", "access.manage"),
  part("roles", "Roles", RolesTab, "access.read"),
  part("tokens", "Tokens", TokensTab, "token.manage"),
  part("limits", "Limits", LimitsTab, "cluster.read"),
  part("policies", "Templates and policies", PoliciesTab, "experiment.read"),
  part("webhooks", "Webhooks", WebhooksTab, "webhook.manage"),
  part("audit", "Audit log", AuditTab, "audit.read"),
  part("tenants", "Tenants", TenantsTab, "tenant.read"),
];

export default function AdminPage() {
  const { tab } = useParams({ strict: false });
  const may = useMay();
  const shown = PARTS.filter((one) => one.needs.some(may));
  const here = shown.find((one) => one.id === tab) ?? (tab === undefined ? shown[0] : undefined);
  return (
    <Page title="Administration" tabs={<Tabs label="Parts of the administration" tabs={shown.map((one) => ({ ...one, isHere: one === here }))} />}>
      {here ? <here.Body /> : <Empty icon="admin" title="There is nothing here for your role" />}
    </Page>
  );
}
