import { hash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { packFiles } from '../../base/bundles/pack.ts'
import { counted } from '../../base/program/counted.ts'
import { CommandError } from '../../base/terminal/command.ts'
import { whyNot } from '../../base/terminal/run-service.ts'
import { printable, type Terminal } from '../../base/terminal/terminal.ts'
import type { LiveUpdate } from '../../host/live-solutions.ts'
import { MANIFEST } from '../../runtime/bundle/layout.ts'
import { ManifestSchema } from '../../runtime/bundle/manifest.ts'
import { renewEditorFiles } from '../editor-files.ts'
import { countText, type Findings, findingsOf, findingsText } from '../findings-text.ts'
import { readSolutionFolder, type SolutionFolder, VanishedFile } from '../solution-folder.ts'

export type SavesParts = {
  /** The folder as the user typed it. */
  readonly shown: string
  readonly update: (packed: Buffer, name: string) => Promise<LiveUpdate>
  /** Called before the files are sent to the host. */
  readonly onSaving: (files: SolutionFolder['files']) => void
  /** Called when a version is active, before it is printed. */
  readonly onActive: (update: LiveUpdate) => Promise<void>
  /**
   * Called when the host has rejected the files, before the errors are printed. `name` is the solution's name; null if
   * the manifest can't be read.
   */
  readonly onRefused: (found: Findings, name: string | null) => void
  readonly terminal: Terminal
}

/** Deploys each saved state of a folder to a live host, one at a time. */
export interface Saves {
  /**
   * Deploys the folder after a save. Resolves when the deployment has finished or failed.
   * @param since when the save happened, as a `performance.now` time
   */
  saved(since: number): Promise<void>
}

/**
 * Number of attempts to read the folder, and the delay between them in ms. If a file disappears while the folder is
 * read, an editor is replacing it.
 */
const READ_TRIES = 5
const READ_PAUSE = 20

export function createSaves({ shown, update, onSaving, onActive, onRefused, terminal }: SavesParts): Saves {
  /** Hashes of the files in the last attempt. */
  let hashes: ReadonlyMap<string, string> = new Map()
  let running: Promise<void> | null = null
  let next: number | null = null

  async function bringIn(since: number): Promise<void> {
    const folder = await readQuietFolder(shown)
    const now = new Map([...folder.files].map(([name, content]) => [name, hash('sha256', content)]))
    const changes = changesOf(hashes, now)
    if (changes.length === 0) return
    const isFirst = hashes.size === 0
    const name = nameIn(folder)
    onSaving(folder.files)
    try {
      // If the name is unknown, any name works, since the error points to the line in the manifest.
      const updated = await update(await packFiles(folder.files), name ?? 'unnamed')
      hashes = now
      const milliseconds = performance.now() - since
      await onActive(updated)
      tell(updated, folder, isFirst ? null : saveLine(changes, updated, milliseconds))
    } catch (error) {
      const findings = findingsOf(error)
      // The error has nothing to do with the files, so the next save deploys them again, even if nothing has changed.
      if (findings === null) throw error
      hashes = now
      onRefused(findings, name)
      refused(findings, folder)
    }
  }

  function tell(updated: LiveUpdate, folder: SolutionFolder, line: string | null): void {
    const found = { faults: [], warnings: updated.warnings }
    terminal.out(findingsText(found, folder.files, terminal))
    if (line !== null) terminal.out(`${terminal.styled('green', line)}\n`)
    for (const file of renewEditorFiles(folder)) terminal.out(`Updated ${file}.\n`)
  }

  function refused(found: Findings, { files }: SolutionFolder): void {
    terminal.out(findingsText(found, files, terminal))
    terminal.out(
      `${terminal.styled('red', `${countText(found)}. Open pages stay unchanged until you fix the errors and save.`)}\n`,
    )
  }

  async function runAll(since: number): Promise<void> {
    for (let began: number | null = since; began !== null; began = next) {
      next = null
      try {
        await bringIn(began)
      } catch (error) {
        const text = error instanceof CommandError ? error.message : whyNot(error)
        terminal.out(`${terminal.styled('red', printable(text))}\n`)
      }
    }
    running = null
  }

  return {
    saved(since) {
      if (running !== null) next ??= since
      running ??= runAll(since)
      return running
    },
  }
}

/** @throws CommandError if it is not a solution's folder any more */
async function readQuietFolder(shown: string): Promise<SolutionFolder> {
  for (let tries = 1; ; tries++) {
    try {
      return readSolutionFolder(shown)
    } catch (error) {
      if (!(error instanceof VanishedFile) || tries === READ_TRIES) throw error
      await wait(READ_PAUSE)
    }
  }
}

/** Returns the solution's name; null if the manifest can't be read. */
function nameIn({ files }: SolutionFolder): string | null {
  try {
    const manifest = JSON.parse(files.get(MANIFEST)?.toString('utf8') ?? '') as { name?: unknown }
    return ManifestSchema.shape.name.safeParse(manifest.name).data ?? null
  } catch {
    return null
  }
}

/** Lists the changed files, for example `globals.js` or `forms/a.json (new)`. */
function changesOf(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const changed = [...now].flatMap(([name, content]) => {
    const known = before.get(name)
    if (known === content) return []
    return [known === undefined ? `${name} (new)` : name]
  })
  return [...changed, ...[...before.keys()].filter((name) => !now.has(name)).map((name) => `${name} (removed)`)]
}

/** The maximum number of file names on one line. */
const MOST_NAMES = 3

function saveLine(changes: readonly string[], { clients }: LiveUpdate, milliseconds: number): string {
  const more = changes.length - MOST_NAMES
  const names = `${changes.slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  const pages = clients === 0 ? 'no page is open' : `in ${counted(clients, 'open page')}`
  return `${printable(names)}: active after ${Math.round(milliseconds)} ms, ${pages}`
}
