import { spawnSync } from 'node:child_process'

/** Whether a program is installed. Tests that need a missing one are skipped, and name it. */
export function hasCommand(name: string): boolean {
  return spawnSync('which', [name]).status === 0
}
