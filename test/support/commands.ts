import { spawnSync } from 'node:child_process'

/**
 * Whether a program is installed. If it isn't, the tests that need it are skipped, and their titles say which program
 * is missing.
 */
export function hasCommand(name: string): boolean {
  return spawnSync('which', [name]).status === 0
}
