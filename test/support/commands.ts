import { spawnSync } from 'node:child_process'

/**
 * Whether a program is installed. Tests that need a missing program are skipped, and their names contain the program.
 */
export function hasCommand(name: string): boolean {
  return spawnSync('which', [name]).status === 0
}
