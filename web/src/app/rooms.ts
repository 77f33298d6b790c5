/** The first part of every path that is the application's. The build tells it to the gateway. */
export const ROOMS = ["experiments", "trials", "compare", "cluster", "models", "admin", "signed-in"] as const;

export type Room = (typeof ROOMS)[number];
