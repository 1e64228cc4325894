import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellWord } from './shell-word.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WINDOWS_SHIM = process.platform === 'win32' ? '.cmd' : ''

export type Program = 'solhost' | 'control-center'

/** In a clone nothing is installed: npm runs both. */
const IN_CLONE: Readonly<Record<Program, string>> = {
  solhost: 'npx solhost',
  'control-center': 'npm run control-center --',
}

type Place = { readonly environment: Readonly<Record<string, string | undefined>>; readonly folder: string }

/**
 * The words that start the program where this process was started, for lines that are printed to be copied: `solhost` where it
 * is installed, such as in a container; `npx solhost` in a clone; else its launcher's path.
 */
export function programName(program: Program, { environment, folder }: Place = here()): string {
  const isNpx = environment.npm_command === 'exec'
  if (!isNpx && isInstalled(program, environment.PATH ?? '')) return program
  if (isNpx || isRealPath(packageFolder(folder), ROOT)) return IN_CLONE[program]
  return `node ${shellWord(relative(folder, join(ROOT, 'bin', `${program}.js`)))}`
}

/** How the command line is started here. */
export const SOLHOST = programName('solhost')

function here(): Place {
  return { environment: process.env, folder: process.cwd() }
}

/** npm adds its own folders to PATH, which the shell that reads the line does not have. */
function isInstalled(program: Program, path: string): boolean {
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && !/[\\/]node_modules[\\/]/.test(`${folder}/`))
  return folders.some((folder) => existsSync(join(folder, `${program}${WINDOWS_SHIM}`)))
}

/** The nearest folder above with a package.json, which is where npx and npm look. */
function packageFolder(folder: string): string | null {
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = dirname(folder)
  return above === folder ? null : packageFolder(above)
}

function isRealPath(folder: string | null, other: string): boolean {
  return folder !== null && realpathSync(folder) === realpathSync(other)
}
