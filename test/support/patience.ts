/**
 * How long anything may take that a test awaits, in ms. Machines that run the tests do other work too, and how fast something
 * is is asked of the benchmarks.
 */
export const PATIENCE = 60_000
