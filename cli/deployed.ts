import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from '../runtime/zod.ts'
import { isOwnFile, writeOwnFile } from './solution-folder.ts'

/**
 * The version that this folder and the host last had in common. With it, `deploy` and `pull` detect changes that the
 * author hasn't seen, and don't overwrite them.
 */
export type Deployed = {
  /** SHA-256 of the version that was deployed or downloaded. */
  readonly sha256: string
  readonly version: string
  /** The result of `contentOf` for the folder's files at that time. */
  readonly content: string
}

const FILE = '.solhost/deployed.json'
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const Deployments = z.record(
  z.string().max(2000),
  z.object({ sha256: Sha256, version: z.string().max(200), content: Sha256 }),
)
const MOST_BYTES = 1024 ** 2

/** @returns null if the solution was never deployed from this folder to that host, or downloaded from it */
export function readDeployed(folder: string, url: URL, name: string): Deployed | null {
  return readAll(folder)[keyOf(url, name)] ?? null
}

/** @throws CommandError if the file would be written through a link */
export function writeDeployed(folder: string, url: URL, name: string, deployed: Deployed): void {
  const all = { ...readAll(folder), [keyOf(url, name)]: deployed }
  writeOwnFile(folder, FILE, `${JSON.stringify(all, null, 2)}\n`)
}

/**
 * A hash of the files' names and content. Unlike the SHA-256 of a bundle, it does not depend on how they are packed.
 */
export function contentOf(files: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash('sha256')
  for (const [name, content] of [...files].sort(([one], [other]) => (one < other ? -1 : 1)))
    hash.update(`${JSON.stringify(name)} ${content.length}\n`).update(content)
  return hash.digest('hex')
}

function keyOf({ origin }: URL, name: string): string {
  return `${origin}/${name}`
}

/**
 * Treats a damaged file like a missing one. The version on the host is then treated as one that the author hasn't seen.
 */
function readAll(folder: string): Readonly<Record<string, Deployed>> {
  if (!isOwnFile(folder, FILE)) return {}
  try {
    const text = readFileSync(join(folder, FILE), 'utf8')
    return text.length > MOST_BYTES ? {} : (Deployments.safeParse(JSON.parse(text)).data ?? {})
  } catch {
    return {}
  }
}
