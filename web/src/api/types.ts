/** Names for the resources in the generated API description. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Me = Schemas["Me"];
export type Experiment = Schemas["Experiment"];
export type BestCheckpoint = Schemas["BestCheckpoint"];
export type ExperimentDetail = Schemas["ExperimentDetail"];
export type ExperimentPage = Schemas["ExperimentPage"];
export type Trial = Schemas["Trial"];
export type Run = Schemas["Run"];
export type Plan = Schemas["Plan"];
export type PlanRange = Schemas["PlanRange"];
export type BulkAction = Schemas["BulkAction"];
export type BulkOutcome = Schemas["BulkOutcome"];
export type LiveEvent = Schemas["Event"];
export type PlatformHealth = Schemas["PlatformHealth"];
export type ServiceCheck = Schemas["ServiceCheck"];
/** A resource by its name in the API description. */
export type Resource<Name extends keyof Schemas> = Schemas[Name];
