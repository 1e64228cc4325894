import { readFileSync } from 'node:fs'

/** Linux tells memory in pages of this size, in bytes, on the machines that Solhost runs on. */
const PAGE = 4096
/** Linux tells processor time in these steps, in ms. */
const CLOCK_TICK = 10

/**
 * The resident size of a process in bytes: what it holds, shared pages counted in full. Cheap enough to be asked every
 * 50 ms. @returns 0 when the process is gone
 */
export function residentSize(pid: number): number {
  const { own, shared } = memoryOf(pid)
  return own + shared
}

/**
 * What a process holds alone and what it may share with others, in bytes; zeros when it is gone. Processes of the same
 * program share its files: once the largest `shared` and the sum of all `own` is what they hold together. The sum of
 * their proportional sizes says the same, but to add up the pages of one process takes the system 4 ms, during which
 * the host would stand still.
 */
export function memoryOf(pid: number): { readonly own: number; readonly shared: number } {
  try {
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ', 3).map(Number)
    return { own: (resident - shared) * PAGE, shared: shared * PAGE }
  } catch {
    return { own: 0, shared: 0 }
  }
}

/** The processor time that a process has used, in ms (the system counts in steps of 10). @returns 0 when it is gone */
export function processorTime(pid: number): number {
  try {
    // The name in parentheses may hold anything; user and system time are the 12th and 13th field behind it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK
  } catch {
    return 0
  }
}

/**
 * The proportional size of a process in bytes: shared pages are divided among those who share them, so that sizes can
 * be added up. For measurements; the host uses `memoryOf`. @returns 0 when the process is gone
 */
export function proportionalSize(pid: number): number {
  try {
    const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1]
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}
