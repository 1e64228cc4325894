import { command } from '../../base/terminal/command.ts'
import { jsonText, printable, type Terminal } from '../../base/terminal/terminal.ts'
import { z } from '../../runtime/zod.ts'
import { authorization, HOST_NOTES, HOST_OPTIONS, needCredentials, readHostAddress } from '../credentials.ts'
import { countText, findingsText } from '../findings-text.ts'
import { createHostApi, type HostApi } from '../host-api.ts'
import { refuse } from '../refusals.ts'
import { readSolutionFolder } from '../solution-folder.ts'
import { refuseFaults } from './check.ts'
import { logsLine } from './logs.ts'

const Place = z.int().min(1).optional()
const Found = z.array(z.object({ file: z.string(), line: Place, column: Place, code: z.string(), message: z.string() }))
const Uploaded = z.object({ version: z.string(), sha256: z.string(), warnings: Found })
const Refused = z.object({ faults: Found, warnings: Found.default([]) })
const Known = z.object({
  active: z.string().nullable(),
  versions: z.array(z.object({ sha256: z.string(), version: z.string() })),
})

export const deployCommand = command({
  summary: 'check a solution, upload it and activate it',
  arguments: {
    folder: { what: 'folder of the solution' },
    url: { what: 'URL of the host, such as https://apps.example.org' },
  },
  options: {
    ...HOST_OPTIONS,
    'no-check': {
      type: 'boolean',
      what: 'skip the local check if the host has other plugins or limits; the host still checks',
    },
    json: { type: 'boolean', what: 'print one JSON object instead of text' },
  },
  notes: () => HOST_NOTES,
  async run({ arguments: given, options }, terminal) {
    const url = readHostAddress(given.url, options['allow-http'] === true)
    needCredentials(options.user, terminal)
    const folder = readSolutionFolder(given.folder)
    const { checkSolution, packSolution } = await import('../check-solution.ts')
    const checked = await (options['no-check'] === true ? packSolution : checkSolution)(folder)
    const { manifest, packed, sha256 } = checked
    const json = (value: object) => terminal.out(jsonText(value))
    if (manifest === null || checked.faults.length > 0) {
      if (options.json === true) json({ ok: false, faults: checked.faults, warnings: checked.warnings })
      return options.json === true ? 'faults' : refuseFaults(folder, checked, terminal)
    }
    const api = createHostApi(url, await authorization(options.user, terminal))
    const { name } = manifest
    const before = await versionBefore(api, url, name)
    const progress = progressBar(name, packed.length, terminal)
    const answer = await api.put(`/admin/api/solutions/${name}`, packed, progress.show).finally(progress.clear)
    const refused = Refused.safeParse(answer.body)
    if (refused.success) {
      if (options.json === true) json({ ok: false, ...refused.data })
      return options.json === true ? 'faults' : refuseFaults(folder, refused.data, terminal)
    }
    const uploaded = Uploaded.safeParse(answer.body)
    if (!uploaded.success || answer.status > 201) refuse(answer, url, name)
    const { version, warnings } = uploaded.data
    const isNew = answer.status === 201
    const address = await addressOf(api, url, name)
    if (options.json === true) {
      json({ ok: true, name, version, sha256, new: isNew, before, warnings, address })
      return 'done'
    }
    const found = { faults: [], warnings }
    terminal.out(findingsText(found, folder.files, terminal))
    terminal.out(
      `${terminal.styled('green', `${name} ${printable(version)}`)} is active: ${change(before, sha256, isNew)}.\n`,
    )
    terminal.out(`  sha256    ${sha256}\n  address   ${address}\n  ${countText(found)}\n`)
    terminal.out(
      `Next: open the address. To follow the log of the scripts, run:\n  ${logsLine(name, url, options.user)} -f\n`,
    )
    return 'done'
  },
})

type Version = { readonly version: string; readonly sha256: string }

/** The active version; null if the host does not have the solution. */
async function versionBefore(api: HostApi, url: URL, name: string): Promise<Version | null> {
  const answer = await api.get(`/admin/api/solutions/${name}`)
  if (answer.status === 404 && (answer.body as { code?: unknown } | null)?.code === 'ERR_SOLUTION_NOT_FOUND')
    return null
  const known = Known.safeParse(answer.body)
  if (answer.status !== 200 || !known.success) refuse(answer, url, name)
  const active = known.data.versions.find(({ sha256 }) => sha256 === known.data.active)
  return active ?? null
}

function change(before: Version | null, sha256: string, isNew: boolean): string {
  if (before === null)
    return isNew ? 'the first version of this solution on the host' : 'a version that the host already had'
  if (before.sha256 === sha256) return 'it was already the active version, so nothing changed'
  const place = `replacing ${printable(before.version)} (sha256 ${printable(before.sha256.slice(0, 12))}…)`
  return isNew ? `a new version, ${place}` : `a version that the host already had, ${place}`
}

/**
 * The solution's URL for users. If solutions have separate host names, the host redirects from this short path to the
 * solution's host name.
 */
async function addressOf(api: HostApi, url: URL, name: string): Promise<string> {
  const { location } = await api.get(`/solution/${name}`)
  const address = new URL(location ?? `/solution/${name}/`, url)
  return address.href.replace(/\/(index\.html)?$|$/, '/')
}

const BAR_WIDTH = 24

/** Shows progress only on a terminal, on one line that is cleared at the end. */
function progressBar(name: string, total: number, terminal: Terminal) {
  if (!terminal.isInteractive) return { show: () => {}, clear: () => {} }
  return {
    show(sent: number): void {
      const full = Math.round((BAR_WIDTH * sent) / total)
      const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`
      const state = sent < total ? `${Math.floor((100 * sent) / total)} %` : 'the host is checking it …'
      terminal.err(`\r\x1b[2K${name} ${bar} ${state}`)
    },
    clear: () => terminal.err('\r\x1b[2K'),
  }
}
