/** How long tests wait, in ms. It is long because the machine may be busy, and only the benchmarks measure speed. */
export const PATIENCE = 60_000
