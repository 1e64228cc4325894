import { SOLHOST } from '../../base/program/program-name.ts'
import { shellWord } from '../../base/program/shell-word.ts'
import { CommandError, command, JSON_OPTION } from '../../base/terminal/command.ts'
import { jsonText, printable, type Terminal } from '../../base/terminal/terminal.ts'
import { z } from '../../runtime/zod.ts'
import { authorization, HOST_NOTES, HOST_OPTIONS, HOST_URL, needCredentials, readHostAddress } from '../credentials.ts'
import { contentOf, readDeployed, writeDeployed } from '../deployed.ts'
import { countText, findingsText } from '../findings-text.ts'
import { createHostApi, type HostApi } from '../host-api.ts'
import { readActive, type Version } from '../host-solution.ts'
import { refuse } from '../refusals.ts'
import { readSolutionFolder } from '../solution-folder.ts'
import { refuseFaults } from './check.ts'
import { logsLine } from './logs.ts'

const Place = z.int().min(1).optional()
const Found = z.array(z.object({ file: z.string(), line: Place, column: Place, code: z.string(), message: z.string() }))
const Uploaded = z.object({ version: z.string(), sha256: z.string(), warnings: Found })
const Refused = z.object({ faults: Found, warnings: Found.default([]) })
const Changed = z.object({
  code: z.literal('ERR_CHANGED_MEANWHILE'),
  name: z.string(),
  active: z.string().nullable(),
  version: z.string().nullable(),
  activatedAt: z.int().nullable(),
  activatedBy: z.string().nullable(),
})
export const deployCommand = command({
  summary: 'check a solution, upload it and activate it',
  arguments: {
    folder: { what: 'folder that contains solution.json' },
    url: HOST_URL,
  },
  options: {
    ...HOST_OPTIONS,
    'no-check': {
      type: 'boolean',
      what: 'skip the local check (the host checks every upload), for example if host limits differ',
    },
    over: { type: 'boolean', what: 'replace the active version even if it has changed since your last deploy or pull' },
    ...JSON_OPTION,
  },
  notes: () => `${HOST_NOTES}
The file .solhost/deployed.json in the folder records the version that you last deployed to the host or downloaded with
"solhost pull". If a different version is active on the host, for example because someone else deployed one, the command
changes nothing unless you add --over.
`,
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
    const before = await readActive(api, url, name, true)
    const progress = progressBar(name, packed.length, terminal)
    const isReplacing = options.over === true || before === null || before.sha256 === sha256
    const last = isReplacing ? null : readDeployed(folder.path, url, name)
    const condition = last === null ? {} : { 'if-match': `"${last.sha256}"` }
    const answer = await api
      .put(`/admin/api/solutions/${name}`, packed, progress.show, condition)
      .finally(progress.clear)
    const changed = Changed.safeParse(answer.body)
    if (last !== null && changed.success) {
      if (options.json === true) json({ ok: false, ...changed.data })
      return options.json === true ? 'failed' : refuseChanged(changed.data, last, given, options.user)
    }
    const refused = Refused.safeParse(answer.body)
    if (refused.success) {
      if (options.json === true) json({ ok: false, ...refused.data })
      return options.json === true ? 'faults' : refuseFaults(folder, refused.data, terminal)
    }
    const uploaded = Uploaded.safeParse(answer.body)
    if (!uploaded.success || answer.status > 201) refuse(answer, url, name)
    const { version, warnings } = uploaded.data
    writeDeployed(folder.path, url, name, { sha256, version, content: contentOf(folder.files) })
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
      `Next: open the address. To follow the solution’s log, run:\n  ${logsLine(name, url, options.user)} -f\n`,
    )
    return 'done'
  },
})

/** @throws CommandError; its message names the active version and explains how to download or replace it */
function refuseChanged(
  changed: z.output<typeof Changed>,
  last: Version,
  { folder, url }: { readonly folder: string; readonly url: string },
  user: string | undefined,
): never {
  const { name, active, version, activatedAt, activatedBy } = changed
  const by = activatedBy === null ? '' : ` by ${activatedBy}`
  const since = activatedAt === null ? '' : `, activated ${new Date(activatedAt).toISOString().slice(0, 16)} UTC${by}`
  const now = active === null ? 'no version' : `${shortName({ version: version ?? '', sha256: active })}${since}`
  const rest = [shellWord(url), ...(user === undefined ? [] : ['--user', shellWord(user)])].join(' ')
  throw new CommandError(
    'failed',
    `The active version of ${name} has changed since this folder was last deployed or pulled, so nothing was deployed.\n` +
      `  active on the host       ${printable(now)}\n  last deployed or pulled  ${printable(shortName(last))}\n` +
      `Next: download the active version into another folder and compare:\n  ${SOLHOST} pull ${name} ${rest} ${name}-active\n` +
      `Or deploy this folder anyway:\n  ${SOLHOST} deploy ${shellWord(folder)} ${rest} --over`,
  )
}

function shortName({ version, sha256 }: Version): string {
  return `${version} (sha256 ${sha256.slice(0, 12)}…)`
}

function change(before: Version | null, sha256: string, isNew: boolean): string {
  if (before === null)
    return isNew ? 'the first version of this solution on the host' : 'a version that the host already had'
  if (before.sha256 === sha256) return 'this version was already active, so nothing changed'
  const place = `replacing ${printable(shortName(before))}`
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
      const state = sent < total ? `${Math.floor((100 * sent) / total)} %` : 'the host is checking the bundle …'
      terminal.err(`\r\x1b[2K${name} ${bar} ${state}`)
    },
    clear: () => terminal.err('\r\x1b[2K'),
  }
}
