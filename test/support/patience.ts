/**
 * How long tests wait for anything, in ms. Machines that run the tests do other work too; speed is measured by the
 * benchmarks.
 */
export const PATIENCE = 60_000
