import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { platformOf } from '../../runtime/platforms.js'
import { shellWord } from './shell-word.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { shim: SHIM } = platformOf()

export type Program = 'solhost' | 'control-center'

/** The commands to use in a clone. The programs are not installed there, so npm runs them. */
const IN_CLONE: Readonly<Record<Program, string>> = {
  solhost: 'npx solhost',
  'control-center': 'npm run control-center --',
}

type Place = { readonly environment: Readonly<Record<string, string | undefined>>; readonly folder: string }

/**
 * Returns the command that starts a program from the current folder, for use in messages. It is `solhost` if that
 * program is installed, such as in a container, and `npx solhost` in a clone. Otherwise, it runs the program's launcher
 * by its path.
 */
export function programName(program: Program, { environment, folder }: Place = here()): string {
  const isNpx = environment.npm_command === 'exec'
  if (!isNpx && isInstalled(program, environment.PATH ?? '')) return program
  if (isNpx || isRealPath(packageFolder(folder), ROOT)) return IN_CLONE[program]
  return `node ${shellWord(relative(folder, join(ROOT, 'bin', `${program}.js`)))}`
}

/** The command that starts `solhost` from the current folder. */
export const SOLHOST = programName('solhost')

function here(): Place {
  return { environment: process.env, folder: process.cwd() }
}

/**
 * Whether the program is in a folder of PATH. Ignores the folders that npm adds to PATH, because the user's shell
 * doesn't have them.
 */
function isInstalled(program: Program, path: string): boolean {
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && !/[\\/]node_modules[\\/]/.test(`${folder}/`))
  return folders.some((folder) => existsSync(join(folder, `${program}${SHIM}`)))
}

/** The nearest folder with a package.json: this one or a parent. npx and npm use the same folder. */
function packageFolder(folder: string): string | null {
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = dirname(folder)
  return above === folder ? null : packageFolder(above)
}

function isRealPath(folder: string | null, other: string): boolean {
  return folder !== null && realpathSync(folder) === realpathSync(other)
}
