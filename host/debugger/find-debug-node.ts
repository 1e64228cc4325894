import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { platformOf } from '../../runtime/platforms.js'

const run = promisify(execFile)

/** The Node.js binary that runs scripts with the debugger. */
export type DebugNode = { readonly node: string; readonly version: string }

/** Where to search for a Node.js binary. Tests use other places. */
export type DebugNodePlaces = {
  /** The project's `node_modules`. */
  readonly packages: string
  /** The folders to search, in the format of the PATH variable. */
  readonly path: string
  /** The nvm folder with the installed versions. */
  readonly nvm: string
  /** The running Node.js binary. */
  readonly own: string
}

/** With isolated-vm 7.0.1, Node 26 aborts when a debugger attaches. 24.21 is the oldest Node 24 that was tested. */
const WANTED = '24.21 or a later 24.x version'
const { node: SOURCE, nodeFile: FILE } = platformOf()
/** The package that contains Node.js 24 for this platform; null if there is none. */
const PACKAGE = SOURCE === null ? null : SOURCE.replace('node-', 'node-24-')
/** How long a binary may take to print its version, in ms. */
const ANSWER_TIME = 10_000

/**
 * Finds a Node.js 24 binary. Uses `given` if set. Otherwise, it searches in this order: the project's packages (a
 * development dependency), the running binary, PATH, and the nvm versions, newest first.
 * @returns the binary, or a problem that says what is wrong and what to do
 */
export async function findDebugNode(
  given: string | undefined,
  places: DebugNodePlaces = usualPlaces(),
): Promise<DebugNode | { readonly problem: string }> {
  if (given !== undefined) {
    const version = await versionOf(given)
    if (isWanted(version)) return { node: given, version }
    const what = version === '' ? 'is not a working Node.js binary' : `is Node.js ${version}`
    return { problem: `${given} ${what}; to debug scripts, you need Node.js ${WANTED}. ${advice()}` }
  }
  for (const node of candidates(places)) {
    const version = await versionOf(node)
    if (isWanted(version)) return { node, version }
  }
  return { problem: `To debug scripts, you need Node.js ${WANTED}, which was not found. ${advice()}` }
}

function usualPlaces(): DebugNodePlaces {
  const { PATH = '', NVM_DIR = join(homedir(), '.nvm') } = process.env
  return {
    packages: fileURLToPath(new URL('../../node_modules', import.meta.url)),
    path: PATH,
    nvm: join(NVM_DIR, 'versions', 'node'),
    own: process.execPath,
  }
}

function candidates({ packages, path, nvm, own }: DebugNodePlaces): string[] {
  const name = basename(FILE)
  const inPath = path.split(delimiter).filter((folder) => folder !== '')
  const found = [
    ...(PACKAGE === null ? [] : [join(packages, PACKAGE, FILE)]),
    own,
    ...inPath.map((folder) => join(folder, name)),
    ...nvmVersions(nvm).map((version) => join(nvm, version, 'bin', name)),
  ]
  return [...new Set(found)].filter((file) => existsSync(file))
}

function nvmVersions(folder: string): string[] {
  if (!existsSync(folder)) return []
  const versions = readdirSync(folder).filter((name) => name.startsWith('v24.'))
  return versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
}

/** @returns '' if the binary is not Node.js or cannot be started */
async function versionOf(node: string): Promise<string> {
  try {
    const { stdout } = await run(node, ['--version'], { timeout: ANSWER_TIME, maxBuffer: 1024, env: {} })
    return /^v(\d+\.\d+\.\d+)\s*$/.exec(stdout)?.[1] ?? ''
  } catch {
    return ''
  }
}

function isWanted(version: string): boolean {
  const [major, minor] = version.split('.').map(Number)
  return major === 24 && minor !== undefined && minor >= 21
}

function advice(): string {
  const byPath = 'use --inspect-node <path> to select a Node.js 24 binary'
  if (PACKAGE === null) return `Install this version, or ${byPath}.`
  return `Run "npm install --no-save ${PACKAGE}@npm:${SOURCE}@24.21.0" in Solhost's folder, or ${byPath}.`
}
