import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in ticks of 1/100 s. */
const TICK = 10

type Times = { readonly parent: number; readonly own: number; readonly ended: number }

/**
 * User and system CPU time of a process and its descendants so far, in ms. Includes children that have exited and were
 * waited for, such as killed sandbox processes.
 */
export function cpuTimeOfTree(pid: number): number {
  const root = timesOf(pid)
  if (root === null) throw new Error(`process ${pid} is no longer running`)
  return (root.own + root.ended + childrenOf(pid).reduce((sum, { own, ended }) => sum + own + ended, 0)) * TICK
}

/**
 * CPU time of a running process in ms, excluding threads that have ended. More precise than ticks, for processes that
 * have just started.
 */
export function cpuTimeOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const times = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0]))
  return times.reduce((sum, one) => sum + one, 0) / 1e6
}

function childrenOf(pid: number): Times[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return numbers.map((one) => timesOf(Number(one))).filter((times): times is Times => times?.parent === pid)
}

/** @returns null if the process has exited */
function timesOf(pid: number): Times | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The process name may contain anything, so parse after its closing parenthesis. The first field after it is
    // "state", the third in the line.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const at = (field: number) => Number(fields[field - 3])
    return { parent: at(4), own: at(14) + at(15), ended: at(16) + at(17) }
  } catch {
    return null
  }
}
