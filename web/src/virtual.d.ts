declare module "virtual:config-keys" {
  import type { ConfigKeys } from "@build/configKeys";
  const keys: ConfigKeys;
  export default keys;
}
