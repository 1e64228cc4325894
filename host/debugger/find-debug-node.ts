import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The Node.js in which scripts are debugged. */
export type DebugNode = { readonly node: string; readonly version: string }

/** Where it is looked for; tests have places of their own. */
export type DebugNodePlaces = {
  /** The project's `node_modules`. */
  readonly packages: string
  /** As the environment property PATH. */
  readonly path: string
  /** Where nvm keeps its versions. */
  readonly nvm: string
  /** That which runs now. */
  readonly own: string
}

/** isolated-vm 7.0.1 aborts Node 26 when a debugger is attached; this is the oldest 24 that was tried. */
const WANTED = '24.21 or a later 24'
const PACKAGE = `node-24-${process.platform}-${process.arch}`
/** What a binary may take to tell its version, in ms. */
const ANSWER_TIME = 10_000

/**
 * Finds a Node.js 24: `given` if there is one, else beside the project (the development dependencies bring it), the running one,
 * in PATH, then nvm's newest.
 * @returns problem: what is wrong and what to do
 */
export async function findDebugNode(
  given: string | undefined,
  places: DebugNodePlaces = usualPlaces(),
): Promise<DebugNode | { readonly problem: string }> {
  if (given !== undefined) {
    const version = await versionOf(given)
    if (isWanted(version)) return { node: given, version }
    const what = version === '' ? 'is no Node.js that can be started' : `is Node.js ${version}`
    return { problem: `${given} ${what}; scripts are debugged in Node.js ${WANTED}. ${advice()}` }
  }
  for (const node of candidates(places)) {
    const version = await versionOf(node)
    if (isWanted(version)) return { node, version }
  }
  return { problem: `Scripts are debugged in Node.js ${WANTED}, and there is none here. ${advice()}` }
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
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const inPath = path.split(delimiter).filter((folder) => folder !== '')
  const found = [
    join(packages, PACKAGE, 'bin', 'node'),
    own,
    ...inPath.map((folder) => join(folder, name)),
    ...nvmVersions(nvm).map((version) => join(nvm, version, 'bin', name)),
  ]
  return [...new Set(found)].filter((file) => existsSync(file))
}

/** Those of Node 24, the newest first. */
function nvmVersions(folder: string): string[] {
  if (!existsSync(folder)) return []
  const versions = readdirSync(folder).filter((name) => name.startsWith('v24.'))
  return versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
}

/** @returns '' for what is no Node.js */
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
  const byPath = 'name one by --inspect-node <path>'
  if (process.platform !== 'linux') return `Install one, then ${byPath}.`
  const source = `node-${process.platform}-${process.arch}`
  return `Run "npm install --no-save ${PACKAGE}@npm:${source}@24.21.0" in Solhost's folder, or ${byPath}.`
}
