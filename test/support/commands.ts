import { spawnSync } from 'node:child_process'

/** Whether a program of the machine is there; tests that need one that is not are skipped and say so by name. */
export function hasCommand(name: string): boolean {
  return spawnSync('which', [name]).status === 0
}
