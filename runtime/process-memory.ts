import { readFileSync } from 'node:fs'

/** The page size in which Linux reports memory, in bytes, on the machines that Solhost supports. */
const PAGE = 4096
/** The unit, in ms, in which Linux reports CPU time. */
const CLOCK_TICK = 10

/**
 * Returns the resident set size of a process in bytes, with shared pages counted in full. Cheap enough to poll every 50
 * ms.
 * @returns 0 if the process has exited
 */
export function residentSize(pid: number): number {
  const { own, shared } = memoryOf(pid)
  return own + shared
}

/**
 * Returns a process's private memory and the memory that it may share with others, in bytes; zeros if it has exited.
 *
 * Processes that run the same program share its files. Their total is therefore the largest `shared` plus the sum of
 * all `own`. The sum of their proportional set sizes would be the same, but reading one takes the kernel 4 ms, which
 * would block the host.
 */
export function memoryOf(pid: number): { readonly own: number; readonly shared: number } {
  try {
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ', 3).map(Number)
    return { own: (resident - shared) * PAGE, shared: shared * PAGE }
  } catch {
    return { own: 0, shared: 0 }
  }
}

/** Returns the CPU time that a process has used, in ms (in steps of 10). @returns 0 if it has exited */
export function processorTime(pid: number): number {
  try {
    // The name in parentheses may contain any character. User and system time are the 12th and 13th fields after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK
  } catch {
    return 0
  }
}

/**
 * Returns the proportional set size (PSS) of a process in bytes, which divides shared pages among the processes that
 * share them. The sizes of several processes can therefore be added up. For measurements only; the host uses
 * `memoryOf`.
 * @returns 0 if the process has exited
 */
export function proportionalSize(pid: number): number {
  try {
    const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1]
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}
