import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * A process with this niceness gets about a tenth of the CPU time of other processes. It hardly slows them down, but
 * still finishes its work.
 */
const BEHIND = 10
/** Retry delay in ms: the kernel may refuse a change that follows a previous change too soon. */
const AGAIN_AFTER = 150

// With autogroups (sched_autogroup), the kernel puts each session into a group, and each sandbox process is a session.
// The kernel then compares only the niceness of groups. Any user can lower a group's niceness again, but only root can
// lower a process's.

/** Runs a starting process at a low priority until `bringForward`, so that it doesn't slow down processes in use. */
export function startBehind(pid: number): void {
  setGroup(pid, BEHIND)
}

export function bringForward(pid: number): void {
  if (!setGroup(pid, 0)) setTimeout(setGroup, AGAIN_AFTER, pid, 0).unref()
}

/** Runs a process at a low priority permanently. */
export function setBack(pid: number): void {
  setGroup(pid, BEHIND)
  try {
    setPriority(pid, BEHIND)
  } catch {
    // Ignore errors: the process may have exited in the meantime, or the system may not allow the change.
  }
}

/** @returns false if the process has exited, the system has no such groups, or it temporarily refuses the change */
function setGroup(pid: number, niceness: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, `${niceness}`)
    return true
  } catch {
    return false
  }
}
