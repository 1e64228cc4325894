import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in ticks of 1/100 s. */
const TICK = 10

type Times = { readonly parent: number; readonly own: number; readonly ended: number }

/**
 * User and system time that a process and its children used so far, in ms: those that live, and those that have ended
 * and were waited for, such as killed sandbox processes.
 */
export function cpuTimeOfTree(pid: number): number {
  const root = timesOf(pid)
  if (root === null) throw new Error(`the process ${pid} is gone`)
  return (root.own + root.ended + childrenOf(pid).reduce((sum, { own, ended }) => sum + own + ended, 0)) * TICK
}

function childrenOf(pid: number): Times[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return numbers.map((one) => timesOf(Number(one))).filter((times): times is Times => times?.parent === pid)
}

/** @returns null when the process is gone */
function timesOf(pid: number): Times | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name, which may hold anything, ends with the last parenthesis; fields count from "state", the third.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const at = (field: number) => Number(fields[field - 3])
    return { parent: at(4), own: at(14) + at(15), ended: at(16) + at(17) }
  } catch {
    return null
  }
}
