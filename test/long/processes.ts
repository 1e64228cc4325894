import { readdirSync, readFileSync } from 'node:fs'
import { memoryOf, proportionalSize } from '../../runtime/process-memory.ts'
import { programFile } from '../../runtime/program-file.ts'
import { SANDBOX_MAIN } from '../../runtime/sandbox-process.ts'

const MEGABYTE = 1024 ** 2

/** The ids of a process's children, including zombies. All children of a host are sandbox processes. */
export function childrenOf(parent: number): number[] {
  return allProcesses().filter((pid) => parentOf(pid) === parent)
}

export function descendantsOf(root: number): number[] {
  const childrenByParent = Map.groupBy(allProcesses(), parentOf)
  const below = (parent: number): number[] =>
    (childrenByParent.get(parent) ?? []).flatMap((child) => [child, ...below(child)])
  return below(root)
}

function allProcesses(): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
}

function parentOf(pid: number): number | null {
  // Skip the program name, which is in parentheses and may contain spaces.
  const afterName = read(`/proc/${pid}/stat`).split(') ').at(-1)
  return afterName === undefined ? null : Number(afterName.split(' ')[1])
}

/** Whether the process with this pid is a sandbox process. The system may have reused the pid for another program. */
export function isSandboxProcess(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`).includes(programFile(SANDBOX_MAIN))
}

/** A process's private memory in MB. It excludes memory shared with other processes, unlike the resident size. */
export function ownMemory(pid: number): number {
  return memoryOf(pid).own / MEGABYTE
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/**
 * The sum of the proportional set sizes (PSS) of a host and its sandbox processes, in MB. Reading a PSS takes several
 * ms.
 */
export function sumOfSizes(host: number): number {
  return [host, ...childrenOf(host)].reduce((sum, pid) => sum + proportionalSize(pid), 0) / MEGABYTE
}

/** An upper bound for `sumOfSizes`: all private memory plus the largest shared part. `memoryOf` explains why. */
function sumOfMemory(host: number): number {
  const all = [host, ...childrenOf(host)].map(memoryOf)
  return (all.reduce((sum, { own }) => sum + own, 0) + Math.max(...all.map(({ shared }) => shared))) / MEGABYTE
}

const LOOK_EVERY = 200
/** One measurement in this many also sums the proportional set sizes, which takes much longer. */
const SIZES_EVERY = 10

/** Repeatedly measures the total memory of a host and its sandbox processes, in MB, until `stop` is called. */
export function watchMemory(host: number) {
  const sums: number[] = []
  const sizes: number[] = []
  const timer = setInterval(() => {
    if (sums.push(sumOfMemory(host)) % SIZES_EVERY === 0) sizes.push(sumOfSizes(host))
  }, LOOK_EVERY)
  return {
    samples: () => sums.length,
    most: () => Math.max(...sums),
    mostSize: () => Math.max(...sizes),
    stop: () => clearInterval(timer),
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
