import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Such a process gets about a tenth of what each other one gets: little enough for them, and enough to come to an end. */
const BEHIND = 10
/** The system may refuse a change that comes too soon after another one; then it is tried again after this, in ms. */
const AGAIN_AFTER = 150

// Where the kernel groups processes by session (sched_autogroup), the group has a niceness of its own, which alone counts
// against other sessions: sandbox processes have one each. It can be taken back; that of a process only by root.

/** Lets a process that only starts run behind those that serve, until `bringForward`. */
export function startBehind(pid: number): void {
  setGroup(pid, BEHIND)
}

export function bringForward(pid: number): void {
  if (!setGroup(pid, 0)) setTimeout(setGroup, AGAIN_AFTER, pid, 0).unref()
}

/** Lets a process run behind all others from now on. */
export function setBack(pid: number): void {
  setGroup(pid, BEHIND)
  try {
    setPriority(pid, BEHIND)
  } catch {
    // It ended in the meantime, or the system does not allow it.
  }
}

/** @returns false when the process is gone, or the system has no such groups or refuses for now */
function setGroup(pid: number, niceness: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, `${niceness}`)
    return true
  } catch {
    return false
  }
}
