/**
 * How long tests wait for something before they fail, in ms. The machine may be busy, so this time is long. Only
 * benchmarks measure speed.
 */
export const PATIENCE = 60_000
