import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Such a process gets about a tenth of the CPU time of each other one: little enough not to slow them down, and
 * enough to finish.
 */
const BEHIND = 10
/** The kernel may refuse a change that follows another one too soon; it is retried after this, in ms. */
const AGAIN_AFTER = 150

// Where the kernel groups processes by session (sched_autogroup), each group has a niceness, and only that counts
// against other sessions. Each sandbox process is a session. A group's niceness can be lowered again; that of a process
// only by root.

/** Runs a starting process in the background until `bringForward`, behind those that serve. */
export function startBehind(pid: number): void {
  setGroup(pid, BEHIND)
}

export function bringForward(pid: number): void {
  if (!setGroup(pid, 0)) setTimeout(setGroup, AGAIN_AFTER, pid, 0).unref()
}

/** Runs a process in the background permanently. */
export function setBack(pid: number): void {
  setGroup(pid, BEHIND)
  try {
    setPriority(pid, BEHIND)
  } catch {
    // It exited in the meantime, or the system does not allow it.
  }
}

/** @returns false if the process has exited, or the system has no such groups or refuses for now */
function setGroup(pid: number, niceness: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, `${niceness}`)
    return true
  } catch {
    return false
  }
}
