/** First segments of the application's paths. The build writes them to a file for the gateway. */
export const SECTIONS = ["experiments", "trials", "compare", "cluster", "models", "admin", "signed-in"] as const;

export type Room = (typeof SECTIONS)[number];
