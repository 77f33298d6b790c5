"""Table of the operations on policies and templates."""

from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, NATURAL, POLICY, READ_EXPERIMENT, SAFE
from services.gateway.platform.schema import Done, Empty
from services.gateway.policies.operations.policies import list_policies, set_policy
from services.gateway.policies.operations.templates import (
    create_template,
    delete_template,
    edit_template,
    get_template,
    list_templates,
)
from services.gateway.policies.schema import (
    ConfigPolicies,
    ConfigPolicy,
    CreateTemplateRequest,
    EditTemplateRequest,
    ListTemplatesRequest,
    SetPolicyRequest,
    Template,
    TemplatePage,
    TemplateRequest,
)

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateTemplate", "POST", "/v1/templates", CreateTemplateRequest, Template, POLICY, KEY, create_template, status=201),
    Operation("ListTemplates", "GET", "/v1/templates", ListTemplatesRequest, TemplatePage, READ_EXPERIMENT, SAFE, list_templates),
    Operation("GetTemplate", "GET", "/v1/templates/{template}", TemplateRequest, Template, READ_EXPERIMENT, SAFE, get_template),
    Operation("EditTemplate", "PATCH", "/v1/templates/{template}", EditTemplateRequest, Template, POLICY, NATURAL, edit_template, conditional=True),
    Operation("DeleteTemplate", "DELETE", "/v1/templates/{template}", TemplateRequest, Done, POLICY, NATURAL, delete_template, conditional=True),
    Operation("ListPolicies", "GET", "/v1/policies", Empty, ConfigPolicies, READ_EXPERIMENT, SAFE, list_policies),
    Operation("SetPolicy", "PUT", "/v1/policies", SetPolicyRequest, ConfigPolicy, POLICY, NATURAL, set_policy),
)
# fmt: on
