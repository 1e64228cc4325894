/**
 * Makes a host keep one spare sandbox process instead of four, because most tests need only one. Starting a process
 * takes about 0.1 s of CPU time.
 */
export const ONE_SPARE = { RUNTIME_XMS: '1m' } as const
