/** All routes of the application. Each section is a chunk that is loaded on demand. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { readClusterSearch } from "@/cluster/search";
import { Loading } from "@/parts/Notes";
import { NotFound, Broken } from "./Broken";
import { Home } from "./Home";
import { Root } from "./Root";
import { readCompareSearch } from "@/compare/search";
import { readExperimentSearch } from "@/experiment/search";
import { readCreateSearch, readListSearch } from "@/experiments/search";
import { readTrialSearch } from "@/trial/search";

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });
const at = <Path extends string>(path: Path) => ({ getParentRoute: () => root, path }) as const;

const home = createRoute({ ...at("/"), component: Home });
const experiments = createRoute({
  ...at("/experiments"),
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => import("@/experiments/ExperimentsPage")),
});
const create = createRoute({
  ...at("/experiments/new"),
  validateSearch: readCreateSearch,
  component: lazyRouteComponent(() => import("@/experiments/CreatePage")),
});
const experiment = createRoute({
  ...at("/experiments/$experiment"),
  validateSearch: readExperimentSearch,
  component: lazyRouteComponent(() => import("@/experiment/ExperimentPage")),
});
const experimentTab = createRoute({
  ...at("/experiments/$experiment/$tab"),
  validateSearch: readExperimentSearch,
  component: lazyRouteComponent(() => import("@/experiment/ExperimentPage")),
});
const trial = createRoute({ ...at("/trials/$trial"), validateSearch: readTrialSearch, component: lazyRouteComponent(() => import("@/trial/TrialPage")) });
const trialTab = createRoute({
  ...at("/trials/$trial/$tab"),
  validateSearch: readTrialSearch,
  component: lazyRouteComponent(() => import("@/trial/TrialPage")),
});
const compare = createRoute({ ...at("/compare"), validateSearch: readCompareSearch, component: lazyRouteComponent(() => import("@/compare/ComparePage")) });
const cluster = createRoute({ ...at("/cluster"), component: lazyRouteComponent(() => import("@/cluster/ClusterPage")) });
const clusterTab = createRoute({
  ...at("/cluster/$tab"),
  validateSearch: readClusterSearch,
  component: lazyRouteComponent(() => import("@/cluster/ClusterPage")),
});
const models = createRoute({ ...at("/models"), component: lazyRouteComponent(() => import("@/models/ModelsPage")) });
const model = createRoute({ ...at("/models/$model"), component: lazyRouteComponent(() => import("@/models/ModelPage")) });
const version = createRoute({
  ...at("/models/$model/$version"),
  component: lazyRouteComponent(() => import("@/models/VersionPage")),
});
const admin = createRoute({ ...at("/admin"), component: lazyRouteComponent(() => import("@/admin/AdminPage")) });
const adminTab = createRoute({
  ...at("/admin/$tab"),
  component: lazyRouteComponent(() => import("@/admin/AdminPage")),
});
const signedIn = createRoute({ ...at("/signed-in"), component: () => null });

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    experiments,
    create,
    experiment,
    experimentTab,
    trial,
    trialTab,
    compare,
    cluster,
    clusterTab,
    models,
    model,
    version,
    admin,
    adminTab,
    signedIn,
  ]),
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: Broken,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
