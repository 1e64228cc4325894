/**
 * Settings for a host that keeps one spare sandbox process. The default is four, but most tests need only one, and
 * starting a process takes about 0.1 s of CPU time.
 */
export const ONE_SPARE = { RUNTIME_XMS: '1m' } as const
