import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { parsedJson } from '../../../runtime/json.ts'
import { z } from '../../../runtime/zod.ts'
import type { Taken } from './statement.ts'

/**
 * The highest accepted sequence number of each environment, as far as this node knows. It is stored in a file outside
 * the database. Otherwise, the host would accept older statements after the database was restored from a backup.
 */
export interface TakenFile {
  /** @returns null if none is known for that environment */
  get(environment: string): Promise<Taken | null>
  /** Stores the number if it is higher than the stored one. Resolves when it is on disk. */
  raise(environment: string, taken: Taken): Promise<void>
}

const NAME = 'cloud-taken.json'
const Content = z.record(z.uuid(), z.object({ number: z.int().nonnegative(), hash: z.string().max(200) }))
type Content = z.infer<typeof Content>

/**
 * @param home PLATFORM_HOME. Chosen here: the file has no signature, since anyone who can write there controls the
 * platform anyway
 */
export function createTakenFile(home: string): TakenFile {
  const file = join(home, NAME)
  let content: Promise<Content> | null = null
  let writing: Promise<void> = Promise.resolve()

  function read(): Promise<Content> {
    content ??= readContent(file).catch((error: unknown) => {
      content = null
      throw error
    })
    return content
  }

  return {
    async get(environment) {
      return (await read())[environment] ?? null
    },
    async raise(environment, taken) {
      const known = await read()
      if ((known[environment]?.number ?? -1) >= taken.number) return
      known[environment] = taken
      const next = writing.catch(() => {}).then(() => writeDurably(home, file, JSON.stringify(known)))
      writing = next
      await next
    },
  }
}

/**
 * Treats an invalid file as empty, because the database also has the number.
 * @throws the errors of `readFile`, except ENOENT
 */
async function readContent(file: string): Promise<Content> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  return Content.safeParse(parsedJson(text)).data ?? {}
}

/** Replaces the file atomically: after a power failure, it contains either the old or the new text. */
async function writeDurably(folder: string, file: string, text: string): Promise<void> {
  const part = `${file}.part`
  const handle = await open(part, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(part, file)
  const entries = await open(folder, 'r')
  try {
    await entries.sync()
  } finally {
    await entries.close()
  }
}
