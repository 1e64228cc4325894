import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from '../../../runtime/zod.ts'
import type { Taken } from './statement.ts'

/**
 * The highest statement of each environment that this node saw taken, beside the database: one that is restored from a backup
 * knows an older number, under which older statements would be taken again.
 */
export interface TakenFile {
  /** Null: none of that environment. */
  get(environment: string): Promise<Taken | null>
  /** Resolves when it is on the disk; a number that is not higher changes nothing. */
  raise(environment: string, taken: Taken): Promise<void>
}

const NAME = 'cloud-taken.json'
const Content = z.record(z.uuid(), z.object({ number: z.int().nonnegative(), hash: z.string().max(200) }))
type Content = z.infer<typeof Content>

/** @param home PLATFORM_HOME. Chosen here: no signature; who can write there can write everything else of the platform */
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

/** What is no such file counts as nothing: the database still has its number. @throws what `readFile` throws, but ENOENT */
async function readContent(file: string): Promise<Content> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    return Content.parse(JSON.parse(text))
  } catch {
    return {}
  }
}

/** The old or the new text, whenever the power fails. */
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
